#include "server/site/path_redirect.h"

#include <string_view>

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
constexpr std::size_t steps_max = 2 * PathOptions::rules_max;
constexpr std::size_t shown_steps_max = 3;

}  // namespace

std::string redirect_circle(const std::vector<PathRedirection>& redirects) {
    for (const PathRedirection& start : redirects) {
        std::string path = start.prefix.empty() ? "/" : start.prefix;
        std::string way = path;
        std::size_t steps = 0;
        for (; steps < steps_max && path.starts_with('/'); ++steps) {
            std::string scratch(path.size(), '\0');
            const http::wire::PathResult canonical = http::wire::canonicalize(path, scratch);
            if (canonical.fault != http::wire::PathFault::none) break;
            const std::string at(canonical.path);
            const PathRedirection* const rule = nearest(redirects, at);
            if (rule == nullptr || rule->target.empty()) break;
            path = with_rest(rule->target, at.substr(rule->prefix.size()));
            // All of it would be longer than a line.
            if (steps < shown_steps_max) way.append(" -> ").append(path);
        }
        if (steps == steps_max) return way;
    }
    return {};
}

void PathRedirect::handle(http::Exchange& exchange) {
    const http::Request& request = exchange.request();
    const std::string_view rest = request.path.substr(prefix_.size());
    std::string encoded(3 * rest.size(), '\0');
    http::wire::BoundedText text(encoded);
    // The path is decoded (canonical_path.h): a line break in it would end the field.
    http::wire::append_path(text, rest);
    std::string location = with_rest(target_, text.view());
    if (request.has_query) location.append("?").append(request.query);
    // Keeps the method and the body (RFC 9110, 15.4.9), as a path that has moved should.
    http::Response response(308);
    response.add(http::wire::FieldName::location, location);
    exchange.respond(response);
}

}  // namespace tiderace::server
