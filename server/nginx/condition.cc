#include "server/nginx/condition.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "server/config/toml_text.h"
#include "server/nginx/regex.h"
#include "tiderace/base/ascii.h"
#include "tiderace/http/wire/method.h"
#include "tiderace/net/network.h"

namespace tiderace::server::nginx {
namespace {

using config::key_text;
using config::string_text;

// `($a = b)` as its parts; a variable alone has no operator.
struct Condition {
    std::string variable;
    std::string sign;
    std::string value;
};

std::optional<Condition> read_condition(std::vector<std::string> words) {
    std::string parts[3];
    // Behind a value in quotes it stands alone.
    if (words.size() == 4 && words.back() == ")") {
        words.pop_back();
        words.back() += ')';
    }
    if (words.empty() || words.size() > 3) return std::nullopt;
    std::ranges::copy(words, parts);
    std::string& last = parts[words.size() - 1];
    if (!parts[0].starts_with("($") || !last.ends_with(')')) return std::nullopt;
    last.pop_back();
    if (words.size() == 2) return std::nullopt;
    return Condition{parts[0].substr(2), parts[1], parts[2]};
}

// A regular expression that is only texts, "^(a|b)$": as patterns of a value. Empty: it is more.
std::vector<std::string> patterns_of_texts(std::string_view regex) {
    const bool is_begin = regex.starts_with('^');
    const bool is_end = regex.ends_with('$');
    regex.remove_prefix(is_begin ? 1 : 0);
    regex.remove_suffix(is_end && !regex.empty() ? 1 : 0);
    if (regex.starts_with('(') && regex.ends_with(')')) {
        regex = regex.substr(1, regex.size() - 2);
    } else if (regex.contains('|') && (is_begin || is_end)) {
        return {};  // "^a|b$": the signs are of one of them
    }
    std::vector<std::string> all;
    for (std::size_t begin = 0; begin <= regex.size();) {
        const std::size_t end = std::min(regex.find('|', begin), regex.size());
        const std::string text(regex.substr(begin, end - begin));
        if (text.empty() || text.find_first_of("\\.[]{}()*+?^$") != text.npos) return {};
        all.push_back((is_begin ? "" : "*") + text + (is_end ? "" : "*"));
        begin = end + 1;
    }
    return all;
}

std::vector<std::string> values_of(const Condition& condition) {
    if (condition.sign == "~") return patterns_of_texts(condition.value);
    // These stand for others in a value.
    const bool is_plain = condition.value.find_first_of("*?$") == std::string::npos;
    if (condition.sign != "=" || !is_plain) return {};
    return {condition.value};
}

std::string field_of(std::string_view variable) {
    std::string name;
    for (const char c : variable) {
        const bool begins_word = name.empty() || name.ends_with('-');
        name += c == '_' ? '-' : begins_word ? to_upper(c) : c;
    }
    return name;
}

std::vector<RouteCondition> methods_of(const Condition& condition) {
    std::string all;
    for (const std::string& value : values_of(condition)) {
        // nginx looks for the text anywhere in it, and no other method has one of these.
        std::string name = value;
        std::erase(name, '*');
        if (http::wire::parse_method(name) == http::wire::Method::other) return {};
        // A route for GET also takes HEAD; nginx's condition does not.
        if (name == "GET") return {};
        all += (all.empty() ? "" : ", ") + string_text(name);
    }
    if (all.empty()) return {};
    return {{"method", "[" + all + "]"}};
}

}  // namespace

std::vector<RouteCondition> conditions_of(const Directive& directive) {
    const auto condition = read_condition(directive.words);
    if (!condition) return {};
    const std::string& variable = condition->variable;
    const std::string& value = condition->value;
    if (variable == "request_method") return methods_of(*condition);
    if (variable == "uri" || variable == "document_uri") {
        const bool is_regex = condition->sign == "~" || condition->sign == "~*";
        const std::string path = is_regex ? path_of_regex(value, condition->sign == "~*") : "";
        return path.empty() ? std::vector<RouteCondition>()
                            : std::vector{RouteCondition{"path", path}};
    }
    std::string key;
    if (variable.starts_with("http_")) key = "header." + key_text(field_of(variable.substr(5)));
    if (variable.starts_with("arg_")) key = "query." + key_text(variable.substr(4));
    if (key.empty()) {
        if (condition->sign != "=") return {};
        const bool is_remote = variable == "remote_addr" && net::parse_ip(value);
        const bool is_scheme = variable == "scheme" && (value == "http" || value == "https");
        if (!is_remote && !is_scheme) return {};
        return {{is_remote ? "remote" : "scheme", string_text(value)}};
    }
    // A variable alone, or compared with nothing: there, or not there.
    if (condition->sign.empty()) return {{key, "true"}};
    if (condition->sign == "=" && value.empty()) return {{key, "false"}, {key, string_text("")}};
    std::vector<RouteCondition> all;
    for (const std::string& each : values_of(*condition)) all.push_back({key, string_text(each)});
    return all;
}

}  // namespace tiderace::server::nginx
