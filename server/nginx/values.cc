#include "server/nginx/values.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tiderace/base/ascii.h"

namespace tiderace::server::nginx {
namespace {

constexpr std::uint64_t number_max = 1'000'000'000'000;

// The number at the beginning, which is taken away.
std::optional<std::uint64_t> take_number(std::string_view& text) {
    std::uint64_t number = 0;
    std::size_t digits = 0;
    while (digits < text.size() && is_digit(text[digits])) {
        number = number * 10 + static_cast<std::uint64_t>(text[digits++] - '0');
        if (number > number_max) return std::nullopt;
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
    return number;
}

std::uint64_t seconds_of(char unit) {
    constexpr std::pair<char, std::uint64_t> units[] = {
        {'s', 1},       {'m', 60},        {'h', 3600},      {'d', 86'400},
        {'w', 604'800}, {'M', 2'592'000}, {'y', 31'536'000}};
    const auto* const found =
        std::ranges::find(units, unit, &std::pair<char, std::uint64_t>::first);
    return found != std::end(units) ? found->second : 0;
}

std::optional<std::uint64_t> whole_seconds(std::string_view text) {
    std::uint64_t seconds = 0;
    while (!text.empty()) {
        const auto number = take_number(text);
        const std::uint64_t unit = text.empty() ? 1 : seconds_of(text[0]);
        if (!number || unit == 0) return std::nullopt;
        seconds += *number * unit;
        if (!text.empty()) text.remove_prefix(1);
        while (text.starts_with(' ')) text.remove_prefix(1);
    }
    return seconds <= number_max ? std::optional(seconds) : std::nullopt;
}

// A regular expression that is a path; nullopt where a character means more.
std::optional<std::string> literal(std::string_view regex) {
    std::string path;
    for (std::size_t i = 0; i < regex.size(); ++i) {
        char c = regex[i];
        if (c == '\\' && i + 1 < regex.size() && !is_letter_or_digit(regex[i + 1])) {
            c = regex[++i];
        } else if (std::string_view(".*+?()[]{}|^$\\ ").contains(c)) {
            return std::nullopt;
        }
        path += c;
    }
    return path;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
    const bool has = text.ends_with(suffix);
    if (has) text.remove_suffix(suffix.size());
    return has;
}

}  // namespace

std::optional<std::string> time_of(std::string_view text) {
    if (text.ends_with("ms")) {
        std::string_view rest = text;
        const auto number = take_number(rest);
        if (number && rest == "ms") return std::string(text);
        return std::nullopt;
    }
    const auto seconds = text.empty() ? std::nullopt : whole_seconds(text);
    if (!seconds) return std::nullopt;
    return *seconds == 0 ? "0" : std::to_string(*seconds) + "s";
}

std::optional<std::string> size_of(std::string_view text) {
    const auto number = take_number(text);
    if (!number || text.size() > 1) return std::nullopt;
    const char unit = text.empty() ? 'b' : to_lower(text[0]);
    constexpr std::string_view units = "bkmg";
    constexpr std::string_view ours[] = {"", "KiB", "MiB", "GiB"};
    const std::size_t at = units.find(unit);
    if (at == units.npos || (unit == 'b' && !text.empty())) return std::nullopt;
    return std::to_string(*number) + std::string(ours[at]);
}

std::string address_of(std::string_view text) {
    if (text.starts_with("unix:")) return std::string(text);
    if (std::ranges::all_of(text, is_digit)) return ":" + std::string(text);
    for (const std::string_view every : {"*:", "[::]:", "0.0.0.0:"}) {
        if (text.starts_with(every)) return ":" + std::string(text.substr(every.size()));
    }
    const std::size_t colon = text.rfind(':');
    const bool has_port = colon != text.npos && text.substr(colon).find(']') == text.npos;
    return std::string(text) + (has_port ? "" : ":80");
}

std::optional<std::string> cache_control_of(std::string_view text) {
    if (text == "max") return "max-age=315360000";
    if (text == "epoch" || text.starts_with('-')) return "no-cache";
    const auto seconds = text.empty() ? std::nullopt : whole_seconds(text);
    return seconds ? std::optional("max-age=" + std::to_string(*seconds)) : std::nullopt;
}

std::vector<std::string> patterns_of(std::string_view regex) {
    for (const std::string_view php : {"\\.php$", "\\.php(/|$)", "[^/]\\.php(/|$)", ".+\\.php$"}) {
        if (regex == php) return {"*.php"};
    }
    if (!regex.starts_with("\\.") || !take_suffix(regex, "$")) return {};
    regex.remove_prefix(2);
    if (regex.starts_with('(') && take_suffix(regex, ")")) {
        regex.remove_prefix(regex.starts_with("(?:") ? 3 : 1);
    }
    std::vector<std::string> patterns;
    while (!regex.empty()) {
        std::string_view each = regex.substr(0, regex.find('|'));
        regex.remove_prefix(std::min(regex.size(), each.size() + 1));
        // "jpe?g" is two names.
        const std::size_t mark = each.find('?');
        if (mark != each.npos && mark > 0) {
            const std::string whole(each);
            const auto with = literal(whole.substr(0, mark) + whole.substr(mark + 1));
            const auto without = literal(whole.substr(0, mark - 1) + whole.substr(mark + 1));
            if (!with || !without) return {};
            patterns.push_back("*." + *without);
            patterns.push_back("*." + *with);
            continue;
        }
        const auto name = literal(each);
        if (!name || name->empty()) return {};
        patterns.push_back("*." + *name);
    }
    return patterns;
}

std::optional<Moved> moved_of(std::string_view regex, std::string_view target) {
    if (!regex.starts_with('^')) return std::nullopt;
    regex.remove_prefix(1);
    const bool is_bounded = take_suffix(regex, "$");
    take_suffix(target, "?");
    if (take_suffix(regex, "(.*)")) {
        if (!take_suffix(target, "$1") || target.contains('$')) return std::nullopt;
        const bool has_slash = take_suffix(regex, "/");
        const auto path = literal(regex);
        if (!path || (has_slash && !take_suffix(target, "/"))) return std::nullopt;
        return Moved{*path, std::string(target) + "{rest}"};
    }
    const auto path = literal(regex);
    if (!path || target.contains('$')) return std::nullopt;
    // All that begins with it leads to one place.
    if (!is_bounded) return Moved{*path == "/" ? "" : *path, std::string(target)};
    return Moved{"=" + *path, std::string(target)};
}

}  // namespace tiderace::server::nginx
