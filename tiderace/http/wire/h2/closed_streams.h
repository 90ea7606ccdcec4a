// H2ClosedStreams: how each of the newest streams closed. What a late frame on a closed stream
// means depends on it (RFC 9113, section 5.1).
//
//   forgotten  |  two bits for each of the last h2_closed_streams_max numbers  |  idle
//   ... 3 5 7  |  9 11 13 15 ...                                       highest()  |  ...
//
// The window is one of numbers, not of events: a client that floods us with short streams cannot
// push the stream out of it whose DATA is still on its way, because each of them costs a number.
//
// Owner    The connection.
// Thread   One at a time.
// Limits   h2_closed_streams_max numbers; older ones are `forgotten`.
// Memory   260 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tiderace/http/wire/h2/stream.h"

namespace tiderace::http::wire {

inline constexpr std::size_t h2_closed_streams_max = 1024;

class H2ClosedStreams {
  public:
    // The client opened `stream`: odd and above highest(). The numbers between are passed over.
    void open(std::uint32_t stream);
    // The highest that the client opened; 0 before the first.
    std::uint32_t highest() const { return highest_; }

    // A stream that was opened has closed; `how` is ended, reset_by_peer or reset_by_us.
    void remember(std::uint32_t stream, H2StreamState how);

    // For a stream that is not in use: `idle` when its number is above highest(), or even, a
    // server's.
    H2StreamState state_of(std::uint32_t stream) const;

  private:
    static constexpr std::size_t in_a_word = 32;

    bool is_forgotten(std::uint32_t stream) const {
        return (highest_ >> 1) - (stream >> 1) >= h2_closed_streams_max;
    }
    void set(std::uint32_t number, std::uint64_t code);

    std::array<std::uint64_t, h2_closed_streams_max / in_a_word> codes_{};  // by number / 2
    std::uint32_t highest_ = 0;
};

}  // namespace tiderace::http::wire
