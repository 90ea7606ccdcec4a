// Basic credentials (RFC 7617): the user and the password inside an Authorization field.
//
// Thread   Any; pure functions.
// Errors   nullopt: another scheme, bad base64 (strict: padded, no space, no spare bits), no colon,
//          or a control character inside.
// Limits   encoded_bytes_max of base64.
#pragma once

#include <optional>
#include <string>

#include "tiderace/base/bytes.h"

namespace tiderace::http::filter {

struct BasicCredentials {
    static constexpr std::size_t encoded_bytes_max = 2048;

    std::string user;      // without a colon
    std::string password;  // may hold colons
};

std::optional<BasicCredentials> parse_basic_credentials(ByteView authorization);

}  // namespace tiderace::http::filter
