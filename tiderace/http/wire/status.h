// Status codes: their reason phrases and whole status lines, rendered beforehand.
//
// Every code registered with IANA (RFC 9110, section 15, and the codes added since).
//
// Thread   Any: pure functions of constant tables.
// Errors   A code that is not registered gives "".
// Memory   None.
// Keywords: status code, reason phrase, 404
#pragma once

#include <string_view>

namespace tiderace::http::wire {

// "OK" for 200; "" for a code that is not registered.
std::string_view reason_phrase(int status);

// "HTTP/1.1 200 OK\r\n"; "" for a code that is not registered.
std::string_view status_line(int status);

// No answer of this status has a body, whatever its fields say (RFC 9112, 6.3).
constexpr bool has_no_body(int status) {
    return status < 200 || status == 204 || status == 304;
}

}  // namespace tiderace::http::wire
