#include "tiderace/http/app/app.h"

#include <algorithm>
#include <cctype>

#include "tiderace/http/app/life/life.h"
#include "tiderace/http/app/pages/template_folder.h"
#include "tiderace/http/route/router.h"
#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http {
namespace {

// "Example.org:8080" is "example.org"; "[::1]:80" is "[::1]".
ByteView without_port(ByteView authority) {
    const std::size_t colon = authority.rfind(':');
    const std::size_t bracket = authority.rfind(']');
    // A colon inside the brackets of an IPv6 address begins no port.
    const bool has_port = colon != ByteView::npos && (bracket == ByteView::npos || colon > bracket);
    return has_port ? authority.substr(0, colon) : authority;
}

bool is_host(ByteView name, ByteView host) {
    if (!name.starts_with('.')) return wire::equals_ignoring_case(name, host);
    return host.size() > name.size() &&
           wire::equals_ignoring_case(name, host.substr(host.size() - name.size()));
}

}  // namespace

struct app_parts::HostEntry {
    std::string name = {};  // "": every other; ".example.org": all below it
    route::Router router = {};
};

App::App() : App(AppOptions()) {}
App::App(AppOptions options)
    : options_(options), hosts_(1), scopes_(1), life_(std::make_shared<app_parts::Life>()) {}
// Here and not in the header, where HostEntry is incomplete.
App::App(App&& other) noexcept = default;
App& App::operator=(App&& other) noexcept = default;
App::~App() = default;

App& App::use(Middleware middleware) {
    scopes_[0].middleware.push_back(std::move(middleware));
    return *this;
}

App& App::add_state(State state) {
    states_.push_back(std::move(state));
    return *this;
}

App& App::add_background(app_parts::Background task) {
    background_.push_back(std::move(task));
    return *this;
}

void App::drain() const {
    life_->drain();
}
bool App::draining() const {
    return life_->draining();
}

app_parts::Scope app_parts::Scope::inner(std::string prefix) const {
    return {app, app->add_scope(number, std::move(prefix))};
}
void app_parts::Scope::use(Middleware middleware) const {
    app->scopes_[number].middleware.push_back(std::move(middleware));
}
void app_parts::Scope::add(wire::Method method, route::PlacedPattern pattern,
                           std::size_t parameters, std::unique_ptr<Endpoint> endpoint,
                           std::vector<Middleware> middleware) const {
    app->add(number, method, std::move(pattern), parameters, std::move(endpoint),
             std::move(middleware));
}

void app_parts::Scope::set_error_page(CheckedErrorPage page) const {
    app->set_error_page(number, std::move(page));
}

std::uint32_t App::add_scope(std::uint32_t parent, std::string prefix) {
    // Faults are kept until serve() (or fault()) reports the first one, so that declarations can be
    // chained and need no check of their own.
    if (fault_.empty() && (prefix.ends_with('/') || (!prefix.empty() && prefix[0] != '/'))) {
        fault_ = "group " + prefix + ": a prefix begins with '/' and does not end with one";
    }
    const Scope& outer = scopes_[parent];
    Scope made{.parent = parent, .host = outer.host, .prefix = outer.prefix + prefix};
    scopes_.push_back(std::move(made));
    return static_cast<std::uint32_t>(scopes_.size() - 1);
}

std::uint32_t App::host_number(std::string name) {
    if (name.starts_with("*.")) name.erase(0, 1);
    const auto known =
        std::ranges::find_if(hosts_, [&](const Host& host) { return host.name == name; });
    const auto number = static_cast<std::uint32_t>(known - hosts_.begin());
    if (known == hosts_.end()) hosts_.push_back({.name = std::move(name)});
    return number;
}

Group<0> App::host(std::string name) {
    const std::uint32_t scope = add_scope(0, "");
    scopes_[scope].host = host_number(std::move(name));
    return Group<0>({this, scope});
}

const route::Router& App::router_for(ByteView authority) const {
    // Nearly every App has no host(): its requests need not look at the name at all.
    if (hosts_.size() == 1) return hosts_[0].router;
    const ByteView host = without_port(authority);
    // A name counts before a pattern, and a longer pattern before a shorter one.
    const Host* best = hosts_.data();
    for (const Host& one : hosts_) {
        if (one.name.empty() || !is_host(one.name, host)) continue;
        if (!one.name.starts_with('.')) return one.router;
        if (one.name.size() > best->name.size()) best = &one;
    }
    return best->router;
}

void App::add(std::uint32_t scope, wire::Method method, route::PlacedPattern placed,
              std::size_t parameters, std::unique_ptr<app_parts::Endpoint> endpoint,
              std::vector<Middleware> middleware) {
    if (!fault_.empty()) return;
    std::string& pattern = placed.text;
    const Scope& outer = scopes_[scope];
    // The "/" of a group is its prefix itself, without a slash at its end.
    if (!outer.prefix.empty()) pattern = outer.prefix + (pattern == "/" ? "" : pattern);
    // Middleware of one route: a scope of its own, inside the group's.
    if (!middleware.empty()) {
        scope = add_scope(scope, "");
        scopes_[scope].middleware = std::move(middleware);
    }
    const auto number = static_cast<std::uint32_t>(routes_.size());
    route::Router& router = hosts_[scopes_[scope].host].router;
    if (const auto added = router.add(method, pattern, number, placed.place); !added) {
        fault_ = added.error();
        // Patterns that are template arguments are checked by the compiler; one that is made at run
        // time is checked here.
    } else if (route::count_parameters(pattern) != parameters) {
        fault_ = "route " + pattern + to_string(placed.place) + ": its handler takes " +
                 std::to_string(parameters) + " parameters of the path";
    }
    const std::size_t first_use = page_uses_.size();
    if (endpoint->kind().list_pages != nullptr) endpoint->kind().list_pages(page_uses_);
    check_pages(first_use);
    routes_.push_back({std::move(pattern), placed.place, method, scope, std::move(endpoint)});
}

App& App::mount(std::string prefix, App&& other) {
    if (fault_.empty()) fault_ = other.fault_;
    // These are of all requests of the App that serves, so below a prefix they would do nothing.
    if (fault_.empty() && (other.on_answer_ || other.proxies_ != nullptr)) {
        fault_ = "mount " + prefix + ": " +
                 (other.on_answer_ ? "on_answer()" : "trusted_proxies()") +
                 " is for the App that serves; call it there";
    }
    const std::uint32_t root = add_scope(0, std::move(prefix));
    // Its first scope becomes `root`, the others follow.
    const auto moved = [&](std::uint32_t scope) { return root + scope; };
    scopes_[root].middleware = std::move(other.scopes_[0].middleware);
    scopes_[root].error_page = std::move(other.scopes_[0].error_page);
    for (std::size_t i = 1; i < other.scopes_.size(); ++i) {
        Scope& scope = other.scopes_[i];
        scopes_.push_back({.parent = moved(scope.parent),
                           .host = host_number(other.hosts_[scope.host].name),
                           .prefix = scopes_[root].prefix + scope.prefix,
                           .middleware = std::move(scope.middleware),
                           .error_page = std::move(scope.error_page),
                           .asks_nobody = scope.asks_nobody});
    }
    // The pages of its error pages, too, which add() below does not see.
    const std::size_t first_use = page_uses_.size();
    page_uses_.insert(page_uses_.end(), other.page_uses_.begin(), other.page_uses_.end());
    check_pages(first_use);
    for (Route& route : other.routes_) {
        // Its pattern holds the prefix of its scope already.
        const std::uint32_t scope = moved(route.scope);
        const std::size_t parameters = route::count_parameters(route.pattern);
        // add() would put the scope's whole prefix before the pattern again, so it sees the root's
        // alone.
        std::string own = scopes_[root].prefix;
        std::swap(own, scopes_[scope].prefix);
        add(scope, route.method, {std::move(route.pattern), route.place}, parameters,
            std::move(route.endpoint), {});
        scopes_[scope].prefix = std::move(own);
    }
    for (State& state : other.states_) states_.push_back(std::move(state));
    other.life_->join(life_);  // its ready() asks it
    for (app_parts::Background& one : other.background_) background_.push_back(std::move(one));
    if (pages_ != nullptr && other.pages_ != nullptr) {
        // A page is found by its name alone, so two folders could have one of the same name each.
        if (fault_.empty()) fault_ = "mount: both Apps have templates; put them into one folder";
    } else if (other.pages_ != nullptr) {
        pages_ = std::move(other.pages_);
        check_pages(0);
    }
    return *this;
}

App& App::trusted_proxies(const TrustedProxyOptions& options) {
    std::string fault;
    proxies_ = std::make_shared<const filter::TrustedProxies>(options, fault);
    if (fault_.empty()) fault_ = std::move(fault);
    return *this;
}

void App::set_error_page(std::uint32_t scope, app_parts::CheckedErrorPage page) {
    const std::size_t first_use = page_uses_.size();
    page_uses_.insert(page_uses_.end(), page.uses.begin(), page.uses.end());
    check_pages(first_use);
    scopes_[scope].error_page = std::move(page.show);
}

App& App::health(route::PlacedPattern path) {
    const std::size_t routes = routes_.size();
    route(wire::Method::get, std::move(path),
          [] { return Reply().field("Cache-Control", "no-store").text("ok\n"); });
    // Sessions or users of a database that is away must not make the process look dead.
    if (routes_.size() > routes) {
        const std::uint32_t scope = add_scope(0, "");
        scopes_[scope].asks_nobody = true;
        routes_.back().scope = scope;
    }
    return *this;
}

App& App::ready(route::PlacedPattern path) {
    return ready(std::move(path), [] { return true; });
}

App& App::on_answer(shared_function<void(const AccessRecord&)> call) {
    on_answer_ = std::move(call);
    return *this;
}

App& App::add_route(wire::Method method, route::PlacedPattern pattern, std::size_t parameters,
                    std::unique_ptr<app_parts::Endpoint> endpoint,
                    std::vector<Middleware> middleware) {
    add(0, method, std::move(pattern), parameters, std::move(endpoint), std::move(middleware));
    return *this;
}

App& App::add_ready(route::PlacedPattern path, Duration limit, Middleware check) {
    // First, so that a draining server answers without asking what the check would ask.
    const auto stays = [life = life_]() -> std::optional<Problem> {
        if (life->draining()) return Problem{.status = 503, .detail = "it drains"};
        return std::nullopt;
    };
    return route(
        wire::Method::get, std::move(path),
        [] { return Reply().field("Cache-Control", "no-store").text("ready\n"); },
        Middleware::time_limit(limit), Middleware(stays), std::move(check));
}

App& App::templates(const std::string& folder) {
    return templates(folder, {});
}

App& App::templates(const std::string& folder, const TemplateOptions& options) {
    if (!fault_.empty()) return *this;
    auto opened = app_parts::TemplateFolder::open(folder, options);
    if (!opened) {
        fault_ = "templates: " + opened.error();
        return *this;
    }
    pages_ = std::move(*opened);
    check_pages(0);
    return *this;
}

void App::check_pages(std::size_t first_use) {
    // templates() may come after the routes: it checks all of them then.
    if (pages_ == nullptr) return;
    for (std::size_t i = first_use; i < page_uses_.size() && fault_.empty(); ++i) {
        if (std::string why = pages_->check(page_uses_[i]); !why.empty()) fault_ = "page " + why;
    }
}

const std::string& App::fault() const {
    static const std::string no_templates =
        "a handler returns a page, but App::templates was not called";
    return fault_.empty() && pages_ == nullptr && !page_uses_.empty() ? no_templates : fault_;
}

}  // namespace tiderace::http
