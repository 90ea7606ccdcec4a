#include "tiderace/http/route_match.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "tiderace/base/ascii.h"
#include "tiderace/http/request.h"
#include "tiderace/http/route/glob.h"
#include "tiderace/http/route/regex.h"
#include "tiderace/http/route/regex_front.h"
#include "tiderace/http/wire/query.h"

namespace tiderace::http {
namespace {

bool value_holds(const ValueCondition& condition, ByteView value) {
    return !condition.value || route::matches_text(*condition.value, value);
}

bool header_holds(const ValueCondition& condition, const Request& request) {
    bool found = false;
    for (const wire::Field* field = request.head->find(ByteView(condition.name));
         field != nullptr && !found; field = request.head->next(*field)) {
        found = value_holds(condition, field->value);
    }
    return found != condition.is_absent;
}

bool query_holds(const ValueCondition& condition, const Request& request) {
    std::string storage(request.query.size(), '\0');
    wire::QueryPairs pairs(request.query, storage);
    bool found = false;
    while (!found) {
        const auto pair = pairs.next();
        if (!pair) break;
        found = pair->name == condition.name && value_holds(condition, pair->value);
    }
    return found != condition.is_absent;
}

// HEAD holds where GET does. A WebSocket's CONNECT (RFC 8441) is a GET, and a
// browser's question about a method (a CORS preflight) is about the routes of that method, too.
bool method_holds(const std::vector<wire::Method>& methods, const Request& request) {
    using wire::Method;
    const auto has = [&](Method method) {
        return std::ranges::find(methods, method) != methods.end();
    };
    const Method method = request.method();
    if (has(method)) return true;
    if (method == Method::head || method == Method::connect) return has(Method::get);
    if (method != Method::options || !request.has(wire::FieldName::origin)) return false;
    const ByteView asked = request.header(wire::FieldName::access_control_request_method);
    return !asked.empty() && has(wire::parse_method(asked));
}

}  // namespace

RouteMatch::Kind RouteMatch::kind() const {
    if (path.starts_with('=')) return Kind::alone;
    return regex != nullptr || route::is_glob(path) ? Kind::pattern : Kind::below;
}

std::string_view RouteMatch::plain_path() const {
    return std::string_view(path).substr(path.starts_with('=') ? 1 : 0);
}

std::string RouteMatch::folder() const {
    if (kind() != Kind::pattern) return std::string(plain_path());
    std::string fixed = regex != nullptr ? route::front_of(ByteView(path).substr(1)).text
                                         : path.substr(0, path.find_first_of("*?"));
    fixed.resize(std::min(fixed.rfind('/'), fixed.size()));
    return fixed.starts_with('/') ? fixed : std::string();
}

std::size_t RouteMatch::conditions() const {
    return (methods.empty() ? 0U : 1U) + header.size() + query.size() + (remote.empty() ? 0U : 1U) +
           (secure ? 1U : 0U);
}

bool RouteMatch::path_holds(ByteView at, route::Captures* captures) const {
    if (regex != nullptr) return regex->match(at, captures) == route::Regex::Answer::yes;
    if (captures != nullptr && kind() == Kind::pattern)
        return route::glob_holds(path, at, captures);
    return route::holds_at(path, at);
}

bool RouteMatch::operator==(const RouteMatch& other) const {
    const auto all = [](const RouteMatch& one) {
        return std::tie(one.path, one.priority, one.methods, one.header, one.query, one.remote,
                        one.secure);
    };
    return all(*this) == all(other) && (regex == nullptr) == (other.regex == nullptr);
}

bool RouteMatch::conditions_hold(const Request& request) const {
    if (!methods.empty() && !method_holds(methods, request)) return false;
    if (secure && *secure != request.secure) return false;
    const core::Address* const peer = request.peer;
    const bool is_listed = peer != nullptr && net::any_contains(remote, *peer);
    if (!remote.empty() && !is_listed) return false;
    return std::ranges::all_of(header,
                               [&](const auto& each) { return header_holds(each, request); }) &&
           std::ranges::all_of(query, [&](const auto& each) { return query_holds(each, request); });
}

std::vector<std::uint32_t> nearest_first(std::span<const RouteMatch* const> routes) {
    // Routes of one pattern stand where the first of them stands.
    std::map<std::string_view, std::size_t> patterns;
    const auto rank = [&](std::uint32_t index) {
        const RouteMatch& match = *routes[index];
        const RouteMatch::Kind kind = match.kind();
        std::size_t nearness = 0;
        if (kind == RouteMatch::Kind::pattern) nearness = patterns.at(match.path);
        if (kind == RouteMatch::Kind::below) nearness = SIZE_MAX - match.path.size();
        return std::tuple(-match.priority, kind, nearness, SIZE_MAX - match.conditions());
    };
    for (std::size_t i = 0; i < routes.size(); ++i) {
        if (routes[i]->kind() == RouteMatch::Kind::pattern) patterns.emplace(routes[i]->path, i);
    }
    std::vector<std::uint32_t> order(routes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, rank);
    return order;
}

}  // namespace tiderace::http
