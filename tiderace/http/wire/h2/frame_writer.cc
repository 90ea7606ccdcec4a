#include "tiderace/http/wire/h2/frame_writer.h"

#include <cstring>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/h2/big_endian.h"

namespace tiderace::http::wire {
namespace {

// Writes the header and returns where the payload goes.
char* begin_frame(std::span<char> out, const H2FrameHeader& header) {
    TR_CHECK(out.size() >= h2_frame_header_bytes + header.length, "no room for the frame");
    return out.data() + write_h2_frame_header(out, header);
}

}  // namespace

std::size_t write_h2_settings(std::span<char> out, std::span<const H2Setting> settings) {
    const std::size_t bytes = settings.size() * h2_setting_bytes;
    // 16 KiB: every peer takes a frame of that size (RFC 9113, 6.5.2).
    TR_CHECK(bytes <= h2_frame_bytes_min, "more settings than there are");
    char* to = begin_frame(
        out, {.length = static_cast<std::uint32_t>(bytes), .type = H2FrameType::settings});
    for (const H2Setting& setting : settings) {
        write_big_endian<2>(to, static_cast<std::uint64_t>(setting.id));
        write_big_endian<4>(to + 2, setting.value);
        to += h2_setting_bytes;
    }
    return h2_frame_header_bytes + bytes;
}

std::size_t write_h2_settings_ack(std::span<char> out) {
    return write_h2_frame_header(out, {.type = H2FrameType::settings, .flags = h2_flag::ack});
}

std::size_t write_h2_ping(std::span<char> out, const H2PingData& data, bool ack) {
    const std::uint8_t flags = ack ? h2_flag::ack : std::uint8_t{0};
    char* to = begin_frame(out, {.length = static_cast<std::uint32_t>(data.size()),
                                 .type = H2FrameType::ping,
                                 .flags = flags});
    std::memcpy(to, data.data(), data.size());
    return h2_ping_bytes;
}

std::size_t write_h2_rst_stream(std::span<char> out, std::uint32_t stream, H2Error error) {
    TR_CHECK(stream != 0, "the connection ends with GOAWAY");
    char* to = begin_frame(out, {.length = 4, .type = H2FrameType::rst_stream, .stream = stream});
    write_big_endian<4>(to, static_cast<std::uint64_t>(error));
    return h2_rst_stream_bytes;
}

std::size_t write_h2_window_update(std::span<char> out, std::uint32_t stream,
                                   std::uint32_t increment) {
    TR_CHECK(increment > 0 && increment <= h2_window_bytes_max, "no such increment can be");
    char* to =
        begin_frame(out, {.length = 4, .type = H2FrameType::window_update, .stream = stream});
    write_big_endian<4>(to, increment);
    return h2_window_update_bytes;
}

std::size_t write_h2_goaway(std::span<char> out, std::uint32_t last_stream, H2Error error,
                            ByteView debug) {
    TR_CHECK(debug.size() + 8 <= h2_frame_bytes_min, "a longer text than every peer takes");
    char* to = begin_frame(
        out, {.length = static_cast<std::uint32_t>(8 + debug.size()), .type = H2FrameType::goaway});
    write_big_endian<4>(to, last_stream);
    write_big_endian<4>(to + 4, static_cast<std::uint64_t>(error));
    if (!debug.empty()) std::memcpy(to + 8, debug.data(), debug.size());
    return h2_goaway_bytes + debug.size();
}

}  // namespace tiderace::http::wire
