// H2 frame writer: frames straight into memory that the caller gives (RFC 9113, sections 4 and 6).
//
// Each function writes at the start of `out`, which must have room, and returns the bytes written.
// DATA, HEADERS and CONTINUATION are a header and the caller's payload after it.
//
// Thread   Any: pure functions.
// Errors   Too little room, or a value that the frame cannot hold, is the caller's fault: aborts.
// Memory   None.
// Keywords: RST_STREAM, GOAWAY, WINDOW_UPDATE
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/h2/error.h"
#include "tiderace/http/wire/h2/frame.h"
#include "tiderace/http/wire/h2/settings.h"

namespace tiderace::http::wire {

inline constexpr std::size_t h2_rst_stream_bytes = h2_frame_header_bytes + 4;
inline constexpr std::size_t h2_window_update_bytes = h2_frame_header_bytes + 4;
inline constexpr std::size_t h2_ping_bytes = h2_frame_header_bytes + 8;
inline constexpr std::size_t h2_settings_ack_bytes = h2_frame_header_bytes;
inline constexpr std::size_t h2_goaway_bytes = h2_frame_header_bytes + 8;  // and the debug text

std::size_t write_h2_settings(std::span<char> out, std::span<const H2Setting> settings);
std::size_t write_h2_settings_ack(std::span<char> out);
std::size_t write_h2_ping(std::span<char> out, const H2PingData& data, bool ack);
std::size_t write_h2_rst_stream(std::span<char> out, std::uint32_t stream, H2Error error);
std::size_t write_h2_window_update(std::span<char> out, std::uint32_t stream,
                                   std::uint32_t increment);
std::size_t write_h2_goaway(std::span<char> out, std::uint32_t last_stream, H2Error error,
                            ByteView debug = {});

}  // namespace tiderace::http::wire
