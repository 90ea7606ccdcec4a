#include "server/command_line/flag_values.h"

#include <algorithm>

#include "server/command_line/suggest.h"
#include "tiderace/base/ascii.h"

namespace tiderace::server {
namespace {

bool is_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_digit);
}

}  // namespace

std::expected<Duration, std::string> duration_value(std::string_view value) {
    const auto duration = parse_duration(value);
    if (duration) return *duration;
    // 10 could be seconds or milliseconds, so it is not guessed.
    if (is_digits(value)) {
        return std::unexpected("a time needs a unit, for example 10s, 500ms or 2m");
    }
    return std::unexpected("expects a time such as 10s, 500ms or 2m");
}

std::expected<std::uint64_t, std::string> bytes_value(std::string_view value,
                                                      std::uint64_t smallest, std::uint64_t largest,
                                                      bool has_off) {
    // 0 below the smallest is refused as any other size.
    const auto bytes =
        value == "off" && has_off ? std::optional<std::uint64_t>(0) : parse_bytes(value);
    if (!bytes) return std::unexpected("expects a size such as 4096, 64KiB or 1MiB");
    if (*bytes >= smallest && *bytes <= largest) return *bytes;
    return std::unexpected("expects a size from " + format_bytes(smallest) + " to " +
                           format_bytes(largest));
}

std::expected<std::uint64_t, std::string> count_value(std::string_view value,
                                                      std::uint64_t smallest,
                                                      std::uint64_t largest) {
    const auto count = parse_number<std::uint64_t>(value);
    if (count && *count >= smallest && *count <= largest) return *count;
    return std::unexpected("expects a whole number from " + std::to_string(smallest) + " to " +
                           std::to_string(largest));
}

std::expected<std::size_t, std::string> choice_value(std::string_view value,
                                                     std::span<const std::string_view> names,
                                                     SystemsOf systems_of) {
    const auto found = std::ranges::find(names, value);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    const std::string here = join_choices(names);
    const std::string_view systems = systems_of ? systems_of(value) : "";
    // A name that is right elsewhere is no typing mistake, and needs another answer.
    if (!systems.empty()) {
        return std::unexpected("only for " + std::string(systems) + "; this machine has " + here);
    }
    std::string expects = "expects " + here;
    const std::string_view nearest = nearest_spelling(value, names);
    if (!nearest.empty()) expects.append("; did you mean ").append(nearest).append("?");
    return std::unexpected(std::move(expects));
}

std::string join_choices(std::span<const std::string_view> words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
        text += words[i];
    }
    return text;
}

}  // namespace tiderace::server
