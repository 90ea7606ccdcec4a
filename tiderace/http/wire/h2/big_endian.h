// Big-endian numbers, as HTTP/2 and WebSocket frames hold them.
//
// Thread   Any: pure functions.
// Errors   The caller ensures that the bytes are there.
// Memory   None.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tiderace::http::wire {

template <std::size_t Bytes>
constexpr std::uint64_t read_big_endian(const char* at) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < Bytes; ++i) {
        number = number << 8 | static_cast<unsigned char>(at[i]);
    }
    return number;
}

template <std::size_t Bytes>
constexpr void write_big_endian(char* to, std::uint64_t number) {
    for (std::size_t i = Bytes; i > 0; --i) {
        to[i - 1] = static_cast<char>(number & 0xff);
        number >>= 8;
    }
}

}  // namespace tiderace::http::wire
