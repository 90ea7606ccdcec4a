// H2ClosedStreams: the streams that closed last, and how. What a late frame on a closed stream
// means depends on it (RFC 9113, section 5.1).
//
// Owner    The connection.
// Thread   One at a time.
// Limits   h2_closed_streams_max; what closed before those is `unknown`.
// Memory   Four bytes for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tiderace/http/wire/h2_stream.h"

namespace tiderace::http::wire {

inline constexpr std::size_t h2_closed_streams_max = 64;

class H2ClosedStreams {
  public:
    // `stream` is a client's (odd); `how` is ended, reset_by_peer or reset_by_us.
    void remember(std::uint32_t stream, H2StreamState how);

    // For a stream that is not in use: `idle` when its number is above `highest`, the highest that
    // the client opened, or even, a server's.
    H2StreamState state_of(std::uint32_t stream, std::uint32_t highest) const;

  private:
    std::array<std::uint32_t, h2_closed_streams_max> closed_{};  // number / 2, and `how` below it
    std::uint32_t next_ = 0;
};

}  // namespace tiderace::http::wire
