#include "server/nginx/regex.h"

#include <algorithm>

#include "tiderace/base/ascii.h"
#include "tiderace/base/utf8.h"
#include "tiderace/http/route/regex.h"
#include "tiderace/http/route/regex_front.h"

namespace tiderace::server::nginx {

std::string path_of_regex(std::string_view regex, bool ignores_case) {
    const std::string whole = (ignores_case ? "(?i)" : "") + std::string(regex);
    // TOML is UTF-8, and nginx takes any byte.
    if (!is_utf8(whole) || !http::route::compile_regex(whole)) return {};
    return "~" + whole;
}

std::string with_groups(std::string_view target, std::string_view path) {
    if (!path.starts_with('~')) return std::string(target);
    const auto regex = http::route::compile_regex(path.substr(1));
    std::string text;
    while (regex && !target.empty()) {
        const std::size_t dollar = std::min(target.find('$'), target.size());
        text += target.substr(0, dollar);
        target.remove_prefix(dollar);
        if (target.empty()) break;
        // A number has one digit; a name may stand in braces.
        const bool has_braces = target.substr(1).starts_with('{');
        const std::size_t begin = has_braces ? 2 : 1;
        std::size_t end = begin;
        const auto is_of_name = [](char c) { return is_letter_or_digit(c) || c == '_'; };
        while (end < target.size() && is_of_name(target[end])) ++end;
        if (end > begin && is_digit(target[begin])) end = begin + 1;
        const std::string name(target.substr(begin, end - begin));
        const bool is_number = name.size() == 1 && is_digit(name[0]);
        const std::size_t number =
            is_number ? static_cast<std::size_t>(name[0] - '0') : (*regex)->group(name).value_or(0);
        const bool is_whole = !has_braces || target.substr(end).starts_with('}');
        const bool is_known = is_whole && number > 0 &&
                              number <= std::min((*regex)->groups(), http::route::captures_max);
        if (has_braces && is_whole) end = std::min(end + 1, target.size());
        end = std::max<std::size_t>(end, 1);
        text += is_known ? "{" + name + "}" : std::string(target.substr(0, end));
        target.remove_prefix(end);
    }
    return text;
}

std::optional<Rewritten> rewritten_of(std::string_view regex, std::string_view target) {
    Rewritten made{.path = path_of_regex(regex), .target = {}};
    // The query goes along where a part of the path does; '?' at the end takes it away.
    const bool takes_query = target.ends_with('?');
    if (takes_query) target.remove_suffix(1);
    if (made.path.empty() || target.find_first_of("{}?#") != target.npos) return std::nullopt;
    if (takes_query && target.contains('$')) return std::nullopt;
    made.target = with_groups(target, made.path);
    return made;
}

bool is_inside(std::string_view regex, std::string_view path) {
    const std::string front = http::route::front_of(regex).text;
    return front.starts_with(std::string(path) + "/");
}

}  // namespace tiderace::server::nginx
