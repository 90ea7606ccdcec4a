#include "tiderace/http/wire/h2/frame.h"

#include "tiderace/base/check.h"
#include "tiderace/http/wire/h2/big_endian.h"

namespace tiderace::http::wire {

H2FrameHeader read_h2_frame_header(ByteView bytes) {
    TR_CHECK(bytes.size() >= h2_frame_header_bytes, "not a whole frame header");
    const char* at = bytes.data();
    return {.length = static_cast<std::uint32_t>(read_big_endian<3>(at)),
            .type = static_cast<H2FrameType>(at[3]),
            .flags = static_cast<std::uint8_t>(at[4]),
            // The reserved bit is ignored on receipt (RFC 9113, 4.1).
            .stream = static_cast<std::uint32_t>(read_big_endian<4>(at + 5)) & h2_stream_max};
}

std::size_t write_h2_frame_header(std::span<char> out, const H2FrameHeader& header) {
    TR_CHECK(out.size() >= h2_frame_header_bytes, "no room for a frame header");
    TR_CHECK(header.length <= h2_frame_bytes_max && header.stream <= h2_stream_max,
             "no such frame can be");
    char* to = out.data();
    write_big_endian<3>(to, header.length);
    to[3] = static_cast<char>(header.type);
    to[4] = static_cast<char>(header.flags);
    write_big_endian<4>(to + 5, header.stream);
    return h2_frame_header_bytes;
}

}  // namespace tiderace::http::wire
