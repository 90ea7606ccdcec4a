#include "server/nginx/location_order.h"

#include <algorithm>
#include <string_view>

#include "server/config/toml_text.h"
#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::server::nginx {
namespace {

constexpr const char* firm_priority = "1";

bool is_alone(const Scope& route) {
    return route.path().starts_with('=');
}
std::string_view plain_path(const Scope& route) {
    return std::string_view(route.path()).substr(is_alone(route) ? 1 : 0);
}

// Not with the path itself.
bool is_inside(const Scope& route, std::string_view path) {
    return !is_pattern(route) && plain_path(route) != path &&
           http::wire::is_below(plain_path(route), path);
}

bool is_firm(const Scope& route, const std::vector<std::string>& firm) {
    return std::ranges::find(firm, route.path()) != firm.end();
}

void set_priorities(std::vector<Scope>& routes, const std::vector<std::string>& firm) {
    for (Scope& route : routes) {
        if (route.has("priority")) continue;
        if (is_firm(route, firm)) {
            const auto is_looser = [&](const Scope& each) {
                return is_inside(each, route.path()) && !is_alone(each) && !is_firm(each, firm);
            };
            if (std::ranges::none_of(routes, is_looser)) {
                route.set("priority", firm_priority);
            } else {
                route.miss("^~: patterns count before it, as for the location inside of it");
            }
        }
        const auto is_around = [&](const std::string& path) {
            return http::wire::is_below(plain_path(route), path);
        };
        if (is_alone(route) && std::ranges::any_of(firm, is_around)) {
            route.set("priority", firm_priority);
        }
    }
}

}  // namespace

bool is_pattern(const Scope& route) {
    return route.path().find_first_of("*~[") == 0;
}

void keep_order(const Scope& site, std::vector<Scope>& routes,
                const std::vector<std::string>& firm) {
    const bool has_patterns = std::ranges::any_of(routes, is_pattern);
    if (has_patterns) set_priorities(routes, firm);
    if (site.root().empty() || site.answers()) return;
    for (std::size_t i = 0; i < routes.size(); ++i) {
        Scope& route = routes[i];
        if (route.answers() || route.has("deny")) continue;
        const bool counts_first = is_alone(route) || route.has("priority");
        // One that refuses stands, and scripts are run wherever they are.
        const auto takes_its_place = [&](const Scope& other) {
            const bool leads_or_tells = other.has("redirect") || other.has("respond");
            if (!leads_or_tells) return false;
            if (other.has("priority") && !route.has("priority")) return false;
            if (is_alone(other)) return false;
            if (!is_pattern(route)) {
                return is_pattern(other) ? counts_first
                                         : http::wire::is_below(plain_path(route), other.path());
            }
            return !is_pattern(other) || &other > &route;
        };
        if (std::ranges::any_of(routes, takes_its_place)) {
            route.set("root", config::string_text(site.root()));
        }
    }
}

}  // namespace tiderace::server::nginx
