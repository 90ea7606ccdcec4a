// HttpVersion: the version of a message.
//
// Thread   Any: plain values.
#pragma once

#include <cstdint>
#include <string_view>

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
