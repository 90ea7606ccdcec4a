// Internal. H2Frame: the frames of HTTP/2 as values (RFC 9113, sections 4 and 6; RFC 9218, section
// 7.1).
//
//   bytes -> H2FrameReader -> H2Frame (views into the bytes) -> one overload for each kind
//
// Thread   Any: plain values.
// Memory   None; every view points into the bytes that were read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"

namespace tiderace::http::wire {

// What a client sends before its first frame (RFC 9113, 3.4).
inline constexpr ByteView h2_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

inline constexpr std::size_t h2_frame_header_bytes = 9;
inline constexpr std::uint32_t h2_stream_max = 0x7fff'ffff;
inline constexpr std::uint32_t h2_frame_bytes_min = 16_KiB;     // every peer takes these
inline constexpr std::uint32_t h2_frame_bytes_max = 0xff'ffff;  // no peer may ask for more

enum class H2FrameType : std::uint8_t {
    data = 0x0,
    headers = 0x1,
    priority = 0x2,
    rst_stream = 0x3,
    settings = 0x4,
    push_promise = 0x5,
    ping = 0x6,
    goaway = 0x7,
    window_update = 0x8,
    continuation = 0x9,
    priority_update = 0x10
};

namespace h2_flag {
inline constexpr std::uint8_t end_stream = 0x1;
inline constexpr std::uint8_t ack = 0x1;
inline constexpr std::uint8_t end_headers = 0x4;
inline constexpr std::uint8_t padded = 0x8;
inline constexpr std::uint8_t priority = 0x20;
}  // namespace h2_flag

struct H2FrameHeader {
    std::uint32_t length = 0;  // of the payload, at most h2_frame_bytes_max
    H2FrameType type = H2FrameType::data;
    std::uint8_t flags = 0;
    std::uint32_t stream = 0;  // the reserved bit is dropped

    bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
    bool operator==(const H2FrameHeader&) const = default;
};

// The header in `bytes`, which are at least h2_frame_header_bytes.
H2FrameHeader read_h2_frame_header(ByteView bytes);
// Writes h2_frame_header_bytes at the start of `out`, and returns how many they are.
std::size_t write_h2_frame_header(std::span<char> out, const H2FrameHeader& header);

using H2PingData = std::array<char, 8>;

// A piece of a DATA frame; they come as the bytes come, so a frame is never kept whole.
struct H2Data {
    std::uint32_t stream;
    ByteView bytes;  // may be empty
    // In a frame's first piece, else 0: all that the frame takes from both windows, and how much of
    // that is padding, which is never read.
    std::uint32_t flow_bytes;
    std::uint32_t padding_bytes;
    bool frame_begins;
    bool end_stream;  // in the last piece of a frame that has the flag
};

// A HEADERS frame and all CONTINUATION frames that belong to it.
struct H2Headers {
    std::uint32_t stream;
    ByteView block;  // the whole field block, for HpackDecoder
    bool end_stream;
    bool depends_on_itself;       // PROTOCOL_ERROR for the stream, once the block is decoded
    std::uint16_t continuations;  // frames beyond the first
};

struct H2PriorityFrame {  // its content has no meaning any more (RFC 9113, 5.3.2)
    std::uint32_t stream;
};

struct H2RstStream {
    std::uint32_t stream;
    std::uint32_t code;  // an H2Error, or an unknown number
};

struct H2SettingsFrame {
    bool ack;
    ByteView entries;  // for H2Settings::apply: six bytes each, already checked
};

struct H2Ping {
    bool ack;
    H2PingData data;
};

struct H2Goaway {
    std::uint32_t last_stream;
    std::uint32_t code;
    ByteView debug;
};

struct H2WindowUpdate {
    std::uint32_t stream;     // 0 is the connection
    std::uint32_t increment;  // 1 to 2^31 - 1
};

struct H2PriorityUpdate {
    std::uint32_t prioritized_stream;  // odd; may be idle, or closed long ago
    ByteView value;                    // for parse_h2_priority
};

struct H2UnknownFrame {  // its payload is passed over, whatever its length
    std::uint8_t type;
};

using H2Frame = std::variant<H2Data, H2Headers, H2PriorityFrame, H2RstStream, H2SettingsFrame,
                             H2Ping, H2Goaway, H2WindowUpdate, H2PriorityUpdate, H2UnknownFrame>;

}  // namespace tiderace::http::wire
