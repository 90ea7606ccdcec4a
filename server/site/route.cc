#include "server/site/route.h"

#include <algorithm>
#include <ranges>

namespace tiderace::server {

Route& route_of(std::vector<Route>& routes, const http::RouteMatch& match) {
    const auto known = std::ranges::find(routes | std::views::reverse, match, &Route::match);
    if (known != routes.rend()) return *known;
    return routes.emplace_back(Route{.match = match});
}

std::vector<const Route*> routes_by_path(const std::vector<Route>& routes) {
    std::vector<const http::RouteMatch*> matches;
    for (const Route& route : routes) matches.push_back(&route.match);
    std::vector<const Route*> sorted;
    for (const std::uint32_t index : http::nearest_first(matches)) {
        if (routes[index].match.conditions() == 0) sorted.push_back(&routes[index]);
    }
    return sorted;
}

}  // namespace tiderace::server
