#include "server/site/fixed_answer.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/site/variables.h"
#include "tiderace/http/exchange.h"
#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::server {
namespace {

// Browsers give up after 20; a chain that is longer than all rules has used one of them twice, and
// may only end where a part of the path is lost each time.
constexpr std::size_t steps_max = 2 * routes_max;
constexpr std::size_t shown_steps_max = 3;

}  // namespace

std::string redirect_circle(const std::vector<Route>& routes) {
    std::vector<const Route*> answers = routes_by_path(routes);
    std::erase_if(answers, [](const Route* route) { return !route->reply; });
    std::set<std::string> ended;  // paths from which there is a way out
    for (const Route& start : routes) {
        if (!start.reply || start.match.kind() == http::RouteMatch::Kind::pattern) continue;
        std::vector<std::string> walked;
        std::string path(start.match.plain_path().empty() ? "/" : start.match.plain_path());
        std::string way = path;
        std::size_t steps = 0;
        for (; steps < steps_max && path.starts_with('/') && !ended.contains(path); ++steps) {
            walked.push_back(path);
            std::string scratch(path.size(), '\0');
            const http::wire::PathResult canonical = http::wire::canonicalize(path, scratch);
            if (canonical.fault != http::wire::PathFault::none) break;
            const std::string at(canonical.path);
            const auto rule = std::ranges::find_if(
                answers, [&](const Route* route) { return route->match.path_holds(at); });
            if (rule == answers.end() || (*rule)->reply->target.empty()) break;
            const auto next = location_with_variables((*rule)->reply->target,
                                                      {.path = at, .route = (*rule)->match});
            if (!next) break;
            path = *next;
            // All of it would be longer than a line.
            if (steps < shown_steps_max) way.append(" -> ").append(path);
        }
        if (steps == steps_max) return way;
        ended.insert(walked.begin(), walked.end());
    }
    return {};
}

std::optional<std::string> FixedAnswer::location(const http::Request& request) const {
    auto location = location_with_variables(
        reply_.target, {.authority = request.authority, .path = request.path, .route = match_});
    if (location && request.has_query && has_path_variable(reply_.target)) {
        location->append("?").append(request.query);
    }
    return location;
}

void FixedAnswer::handle(http::Exchange& exchange) {
    http::Response response(reply_.status);
    if (!reply_.target.empty()) {
        const auto target = location(exchange.request());
        if (!target) return exchange.respond_status(404);
        response.add(http::wire::FieldName::location, response.keep(*target));
    } else if (!reply_.text.empty()) {
        response.add(http::wire::FieldName::content_type, "text/plain; charset=utf-8");
        response.set_body(reply_.text, {});
    }
    exchange.respond(response);
}

}  // namespace tiderace::server
