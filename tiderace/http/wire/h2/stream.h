// Internal. H2 stream states: what each frame means in each state of a stream (RFC 9113, section
// 5.1), for a server that never pushes.
//
//            headers            peer's END_STREAM
//   idle ------------> open -----------------------> half_closed_remote
//                       |                                    |
//                       | our END_STREAM                     | our END_STREAM
//                       v            peer's END_STREAM       v
//               half_closed_local -------------------------> ended
//
//   RST_STREAM from any of them: reset_by_peer, reset_by_us
//
// Thread   Any: a constant table.
// Memory   One byte for each stream.
// Keywords: stream state, half-closed, STREAM_CLOSED
#pragma once

#include <cstddef>
#include <cstdint>

#include "tiderace/http/wire/h2/error.h"

namespace tiderace::http::wire {

enum class H2StreamState : std::uint8_t {
    idle,  // its number is higher than any that was used
    open,
    half_closed_remote,  // the whole request is here
    half_closed_local,   // our answer ended before the request did
    ended,
    reset_by_peer,
    reset_by_us,  // frames that the peer sent before it knew are passed over
    passed_over,  // never used, and a higher number was: it may not be opened any more
    forgotten     // closed, or passed over, too long ago to know how
};
inline constexpr std::size_t h2_stream_states = 9;

enum class H2StreamEvent : std::uint8_t {
    // from the peer
    headers,
    headers_end,  // with END_STREAM
    data,
    data_end,
    rst_stream,
    window_update,
    priority,  // PRIORITY, PRIORITY_UPDATE
    // from us
    sent_end,
    sent_rst
};
inline constexpr std::size_t h2_stream_events = 9;

struct H2Transition {
    enum class Verdict : std::uint8_t {
        ok,
        ignore,            // but a field block goes through HPACK, DATA through the connection's
                           // window, and both through the budget
        stream_error,      // RST_STREAM, then reset_by_us
        connection_error,  // GOAWAY
        misuse             // ours: a TR_CHECK of the caller's
    };

    H2StreamState next;  // when ok or ignore
    Verdict verdict;
    H2Error error;  // with the two errors
};

H2Transition h2_transition(H2StreamState state, H2StreamEvent event);

// HEADERS may open `stream`: odd and higher than every one before it (RFC 9113, 5.1.1).
constexpr bool may_open_h2_stream(std::uint32_t stream, std::uint32_t highest) {
    return (stream & 1U) != 0 && stream > highest;
}

}  // namespace tiderace::http::wire
