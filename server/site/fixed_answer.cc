#include "server/site/fixed_answer.h"

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
constexpr std::size_t steps_max = 2 * PathOptions::rules_max;
constexpr std::size_t shown_steps_max = 3;

}  // namespace

std::string redirect_circle(const std::vector<PathAnswer>& answers) {
    std::set<std::string> ended;  // paths from which there is a way out
    for (const PathAnswer& start : answers) {
        std::vector<std::string> walked;
        std::string path(start.path().empty() ? "/" : start.path());
        std::string way = path;
        std::size_t steps = 0;
        for (; steps < steps_max && path.starts_with('/') && !ended.contains(path); ++steps) {
            walked.push_back(path);
            std::string scratch(path.size(), '\0');
            const http::wire::PathResult canonical = http::wire::canonicalize(path, scratch);
            if (canonical.fault != http::wire::PathFault::none) break;
            const std::string at(canonical.path);
            const PathAnswer* const rule = nearest(answers, "=" + at);
            if (rule == nullptr || rule->target.empty()) break;
            path = rule->keeps_rest ? with_rest(rule->target, at.substr(rule->path().size()))
                                    : rule->target;
            // All of it would be longer than a line.
            if (steps < shown_steps_max) way.append(" -> ").append(path);
        }
        if (steps == steps_max) return way;
        ended.insert(walked.begin(), walked.end());
    }
    return {};
}

std::string FixedAnswer::location(const http::Request& request) const {
    if (!answer_.keeps_rest) return answer_.target;
    const std::string_view rest = request.path.substr(answer_.path().size());
    std::string encoded(3 * rest.size(), '\0');
    http::wire::BoundedText text(encoded);
    // The path is decoded (canonical_path.h): a line break in it would end the field.
    http::wire::append_path(text, rest);
    std::string location = with_rest(answer_.target, text.view());
    if (request.has_query) location.append("?").append(request.query);
    return location;
}

void FixedAnswer::handle(http::Exchange& exchange) {
    http::Response response(answer_.status);
    if (!answer_.target.empty()) {
        response.add(http::wire::FieldName::location, response.keep(location(exchange.request())));
    } else if (!answer_.text.empty()) {
        response.add(http::wire::FieldName::content_type, "text/plain; charset=utf-8");
        response.set_body(answer_.text, {});
    }
    exchange.respond(response);
}

}  // namespace tiderace::server
