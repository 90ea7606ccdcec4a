#include "server/site/variables.h"

#include <algorithm>

#include "tiderace/base/ascii.h"
#include "tiderace/http/route/glob.h"
#include "tiderace/http/route/regex.h"
#include "tiderace/http/wire/bounded_text.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/http/wire/host.h"
#include "tiderace/http/wire/percent.h"

namespace tiderace::server {
namespace {

bool is_number(std::string_view name) {
    return name.size() == 1 && name[0] >= '1' && name[0] <= '9';
}

// The number of a star or a group; 0: it is another variable, or none.
std::size_t capture_of(std::string_view name, const http::RouteMatch& route) {
    if (is_number(name)) return static_cast<std::size_t>(name[0] - '0');
    return route.regex != nullptr ? route.regex->group(name).value_or(0) : 0;
}

std::size_t captures_of(const http::RouteMatch& route) {
    const bool has_stars = route.kind() == http::RouteMatch::Kind::pattern;
    const std::size_t all = route.regex != nullptr ? route.regex->groups()
                            : has_stars            ? http::route::stars_of(route.path)
                                                   : 0;
    return std::min(all, http::route::captures_max);
}

bool is_label(std::string_view name) {
    return name.starts_with("host.") && is_number(name.substr(5));
}

// A name that is the same folder however it is written; "" for one that is none.
std::string host_of(std::string_view authority) {
    std::string host = lower_case(http::wire::host_without_port(authority));
    const bool is_name = std::ranges::all_of(host, [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
    });
    // No hidden folder, and none above.
    const bool is_sound = is_name && !host.starts_with('.') && !host.contains("..");
    return is_sound ? host : std::string();
}

std::string_view label_of(std::string_view host, char number) {
    for (char at = '1'; at < number; ++at) {
        const std::size_t dot = host.find('.');
        if (dot == host.npos) return {};
        host.remove_prefix(dot + 1);
    }
    return host.substr(0, host.find('.'));
}

// Without "//" inside, as canonical paths are.
std::string tidied(std::string path) {
    if (!path.starts_with('/')) path.insert(0, "/");
    const auto ends =
        std::ranges::unique(path, [](char a, char b) { return a == '/' && b == '/'; });
    path.erase(ends.begin(), ends.end());
    return path;
}

// A star may stand for a part of a name, such as the dots of "..b", and be a whole name here.
bool leads_up(std::string_view path) {
    const std::string whole = std::string(path) + "/";
    return whole.contains("/../") || whole.contains("/./");
}

std::string encoded(std::string_view path) {
    std::string storage(3 * path.size(), '\0');
    http::wire::BoundedText text(storage);
    // The path is decoded (canonical_path.h): a line break in it would end the field.
    http::wire::append_path(text, path);
    return std::string(text.view());
}

struct Value {
    std::string text;
    bool is_of_path;
};

std::optional<Value> value_of(std::string_view name, const VariableValues& values,
                              std::string_view path) {
    if (name == "path") return Value{std::string(path), true};
    if (name == "rest") {
        const std::string_view route = values.route.plain_path();
        const bool is_below = http::wire::is_below(values.path, route);
        return Value{std::string(values.path.substr(is_below ? route.size() : 0)), true};
    }
    if (const std::size_t number = capture_of(name, values.route); number > 0) {
        http::route::Captures captures;
        const bool holds = values.route.path_holds(values.path, &captures);
        if (!holds || number > captures.count) return std::nullopt;
        return Value{std::string(captures.texts[number - 1]), true};
    }
    const std::string host = host_of(values.authority);
    std::string text(name == "host" ? host : label_of(host, name.back()));
    if (text.empty()) return std::nullopt;
    return Value{std::move(text), false};
}

// Calls put(text) for what stands between the variables and put(value) for each of these. False:
// one has no value.
template <typename Put>
bool expand(std::string_view text, const VariableValues& values, std::string_view path, Put put) {
    while (!text.empty()) {
        const std::size_t begin = std::min(text.find('{'), text.size());
        if (begin > 0) put(Value{std::string(text.substr(0, begin)), false});
        text.remove_prefix(begin);
        if (text.empty()) break;
        const std::string_view name = text.substr(1, text.find('}') - 1);
        text.remove_prefix(name.size() + 2);
        const auto value = value_of(name, values, path);
        if (!value) return false;
        put(*value);
    }
    return true;
}

}  // namespace

std::string variable_fault(std::string_view text, const http::RouteMatch& route) {
    for (;;) {
        const std::size_t begin = text.find_first_of("{}");
        if (begin == text.npos) return {};
        const std::size_t end = text.find('}', begin);
        if (text[begin] == '}' || end == text.npos) return "a brace stands alone";
        const std::string_view name = text.substr(begin + 1, end - begin - 1);
        const bool is_known = name == "path" || name == "rest" || name == "host" || is_label(name);
        const std::size_t capture = is_known ? 0 : capture_of(name, route);
        if (!is_known && capture == 0) return "there is no variable {" + std::string(name) + "}";
        if (capture > captures_of(route)) {
            return "{" + std::string(name) + "} stands for a " +
                   (route.regex != nullptr ? "group" : "star") + ", and the path has " +
                   std::to_string(captures_of(route));
        }
        text.remove_prefix(end + 1);
    }
}

bool has_path_variable(std::string_view text) {
    for (std::size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
        const std::string_view name = text.substr(at + 1, text.find('}', at) - at - 1);
        if (name != "host" && !is_label(name)) return true;
    }
    return false;
}

std::string_view authority_of(std::string_view target) {
    const std::size_t scheme = target.find("://");
    if (scheme == target.npos) return {};
    target.remove_prefix(scheme + 3);
    std::string_view authority = target.substr(0, target.find('/'));
    for (const std::string_view whole : {"{rest}", "{path}"}) {
        if (authority.ends_with(whole)) authority.remove_suffix(whole.size());
    }
    return authority;
}

std::optional<std::string> path_with_variables(std::string_view text, const VariableValues& values,
                                               std::string_view path) {
    std::string whole;
    const auto put = [&](const Value& value) { whole += value.text; };
    if (!expand(text, values, path, put)) return std::nullopt;
    whole = tidied(std::move(whole));
    if (leads_up(whole)) return std::nullopt;
    return whole;
}

std::optional<std::string> location_with_variables(std::string_view text,
                                                   const VariableValues& values) {
    std::string whole;
    const auto put = [&](const Value& value) {
        if (whole.ends_with('/') && value.text.starts_with('/')) whole.pop_back();
        whole += value.is_of_path ? encoded(value.text) : value.text;
    };
    if (!expand(text, values, values.path, put)) return std::nullopt;
    return whole;
}

}  // namespace tiderace::server
