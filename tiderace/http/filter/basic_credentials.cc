#include "tiderace/http/filter/basic_credentials.h"

#include <algorithm>

#include "tiderace/base/ascii.h"
#include "tiderace/base/base64.h"

namespace tiderace::http::filter {

std::optional<BasicCredentials> parse_basic_credentials(ByteView authorization) {
    constexpr ByteView scheme = "Basic ";
    if (authorization.size() > scheme.size() + BasicCredentials::encoded_bytes_max ||
        !starts_with_ignoring_case(authorization, scheme)) {
        return std::nullopt;
    }
    const auto decoded = read_base64(trim_ows(authorization.substr(scheme.size())));
    // RFC 7617, 2: neither part may hold a control character; the first colon ends the name.
    if (!decoded || std::ranges::any_of(*decoded, is_control_character)) return std::nullopt;
    const std::size_t colon = decoded->find(':');
    if (colon == std::string::npos) return std::nullopt;
    return BasicCredentials{decoded->substr(0, colon), decoded->substr(colon + 1)};
}

}  // namespace tiderace::http::filter
