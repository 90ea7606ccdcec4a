#include "tiderace/http/filter/basic_credentials.h"

#include <algorithm>
#include <cstdint>

#include "tiderace/base/ascii.h"

namespace tiderace::http::filter {
namespace {

int value_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::optional<std::string> decode_base64(ByteView text) {
    if (text.size() % 4 != 0) return std::nullopt;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    text.remove_suffix(padding);
    std::string out;
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char c : text) {
        const int value = value_of(c);
        if (value < 0) return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out.push_back(static_cast<char>(bits >> count & 0xff));
    }
    // Two spellings of one text would be two keys for one lock.
    if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;
    return out;
}

}  // namespace

std::optional<BasicCredentials> parse_basic_credentials(ByteView authorization) {
    constexpr ByteView scheme = "Basic ";
    if (authorization.size() > scheme.size() + BasicCredentials::encoded_bytes_max ||
        !starts_with_ignoring_case(authorization, scheme)) {
        return std::nullopt;
    }
    const auto decoded = decode_base64(trim_ows(authorization.substr(scheme.size())));
    // RFC 7617, 2: neither may hold a control character, and a user's name no colon.
    if (!decoded || std::ranges::any_of(*decoded, is_control_character)) return std::nullopt;
    const std::size_t colon = decoded->find(':');
    if (colon == std::string::npos) return std::nullopt;
    return BasicCredentials{decoded->substr(0, colon), decoded->substr(colon + 1)};
}

}  // namespace tiderace::http::filter
