#include "server/config/toml_text.h"

#include <algorithm>

#include "tiderace/base/ascii.h"

namespace tiderace::server::config {

std::string string_text(std::string_view text) {
    std::string whole = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            whole.append(1, '\\').append(1, c);
        } else if (is_control_character(c)) {
            whole.append("\\u00").append(1, hex_digits[byte >> 4]).append(1, hex_digits[byte & 15]);
        } else {
            whole += c;
        }
    }
    return whole + "\"";
}

std::string list_text(std::span<const std::string> texts) {
    std::string list = "[";
    for (const std::string& each : texts) list += (list.size() > 1 ? ", " : "") + string_text(each);
    return list + "]";
}

std::string key_text(std::string_view name) {
    const bool is_bare = !name.empty() && std::ranges::all_of(name, [](char c) {
        return is_letter_or_digit(c) || c == '-' || c == '_';
    });
    return is_bare ? std::string(name) : string_text(name);
}

}  // namespace tiderace::server::config
