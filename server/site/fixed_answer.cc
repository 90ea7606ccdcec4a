#include "server/site/fixed_answer.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/http/exchange.h"
#include "tiderace/http/wire/bounded_text.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/http/wire/percent.h"

namespace tiderace::server {
namespace {

// `rest` is percent-encoded, and follows the path that is redirected.
std::string with_rest(std::string target, std::string_view rest) {
    // `rest` begins with '/', so "/" and "/a" would make "//a": an address of another server.
    if (!rest.empty() && target.ends_with('/')) target.pop_back();
    return target.append(rest);
}

// Browsers give up after 20; a chain that is longer than all rules has used one of them twice, and
// may only end where a part of the path is lost each time.
constexpr std::size_t steps_max = 2 * routes_max;
constexpr std::size_t shown_steps_max = 3;

// What follows a pattern is the whole path.
std::size_t rest_begins(const http::RouteMatch& match) {
    return match.kind() == http::RouteMatch::Kind::glob ? 0 : match.plain_path().size();
}

}  // namespace

std::string redirect_circle(const std::vector<Route>& routes) {
    std::vector<const Route*> answers = routes_by_path(routes);
    std::erase_if(answers, [](const Route* route) { return !route->reply; });
    std::set<std::string> ended;  // paths from which there is a way out
    for (const Route& start : routes) {
        if (!start.reply || start.match.kind() == http::RouteMatch::Kind::glob) continue;
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
            const FixedReply& reply = *(*rule)->reply;
            const std::size_t matched = rest_begins((*rule)->match);
            path = reply.keeps_rest ? with_rest(reply.target, at.substr(matched)) : reply.target;
            // All of it would be longer than a line.
            if (steps < shown_steps_max) way.append(" -> ").append(path);
        }
        if (steps == steps_max) return way;
        ended.insert(walked.begin(), walked.end());
    }
    return {};
}

std::string FixedAnswer::location(const http::Request& request) const {
    if (!reply_.keeps_rest) return reply_.target;
    const std::string_view rest = request.path.substr(path_.size());
    std::string encoded(3 * rest.size(), '\0');
    http::wire::BoundedText text(encoded);
    // The path is decoded (canonical_path.h): a line break in it would end the field.
    http::wire::append_path(text, rest);
    std::string location = with_rest(reply_.target, text.view());
    if (request.has_query) location.append("?").append(request.query);
    return location;
}

void FixedAnswer::handle(http::Exchange& exchange) {
    http::Response response(reply_.status);
    if (!reply_.target.empty()) {
        response.add(http::wire::FieldName::location, response.keep(location(exchange.request())));
    } else if (!reply_.text.empty()) {
        response.add(http::wire::FieldName::content_type, "text/plain; charset=utf-8");
        response.set_body(reply_.text, {});
    }
    exchange.respond(response);
}

}  // namespace tiderace::server
