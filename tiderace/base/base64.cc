#include "tiderace/base/base64.h"

#include <algorithm>
#include <cstdint>

namespace tiderace {

void write_base64(std::span<const unsigned char> bytes, char* out) {
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = std::uint32_t{bytes[i]} << 16;
        if (count > 1) group |= std::uint32_t{bytes[i + 1]} << 8;
        if (count > 2) group |= bytes[i + 2];
        for (std::size_t letter = 0; letter < 4; ++letter) {
            *out++ = letter <= count ? letters[group >> (18 - 6 * letter) & 63] : '=';
        }
    }
}

std::string base64_of(std::string_view bytes) {
    std::string text(base64_bytes(bytes.size()), '\0');
    write_base64({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()}, text.data());
    return text;
}

std::optional<std::string> read_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    text.remove_suffix(text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0);
    std::string out;
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char c : text) {
        const int value = base64_value(c);
        if (value < 0) return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out.push_back(static_cast<char>(bits >> count & 0xff));
    }
    if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;
    return out;
}

}  // namespace tiderace
