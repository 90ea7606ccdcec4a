// Internal. Method: the request methods that a server tells apart (RFC 9110, section 9; PATCH is
// RFC 5789). HttpVersion: the version of a message.
//
// Thread   Any: pure functions.
// Errors   Any token that is not one of these is `other`: the server answers it with 501.
// Memory   None.
#pragma once

#include <cstdint>
#include <string_view>

#include "tiderace/base/bytes.h"

namespace tiderace::http {

enum class HttpVersion : std::uint8_t { http_1_0, http_1_1, http_2 };

// "HTTP/1.1", "HTTP/2.0": for logs.
constexpr std::string_view to_string(HttpVersion version) {
    switch (version) {
        case HttpVersion::http_1_0:
            return "HTTP/1.0";
        case HttpVersion::http_1_1:
            return "HTTP/1.1";
        case HttpVersion::http_2:
            return "HTTP/2.0";
    }
    return "";
}

}  // namespace tiderace::http

namespace tiderace::http::wire {

enum class Method : std::uint8_t {
    get,
    head,
    post,
    put,
    delete_,
    connect,
    options,
    trace,
    patch,
    other
};

// Methods are case-sensitive: "get" is `other`.
Method parse_method(ByteView text);

// "GET"; "" for `other`.
std::string_view to_string(Method method);

}  // namespace tiderace::http::wire
