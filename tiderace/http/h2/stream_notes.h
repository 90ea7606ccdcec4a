// Internal. H2StreamNotes: what a connection notes about one of its streams.
//
// Owner    The stream's H2Exchange. Its next request begins with new ones.
// Thread   The loop's.
#pragma once

#include <cstdint>

#include "tiderace/base/units.h"
#include "tiderace/http/wire/h2/stream.h"
#include "tiderace/http/wire/h2/window.h"

namespace tiderace::http {

struct H2StreamNotes {
    wire::H2StreamState state = wire::H2StreamState::idle;
    wire::H2SendWindow send_window;
    wire::H2ReceiveWindow receive_window;
    Instant body_due = Instant::max();   // next check of the body's progress
    Instant write_due = Instant::max();  // next check of the answer's
    Instant write_since{};               // when its wait began, or the last check was
    std::uint64_t body_mark = 0;         // bytes at the last check
    std::uint64_t write_mark = 0;
    std::uint64_t connection_mark = 0;  // the same of all streams together
    bool window_was_closed = false;     // this stream's, at the last check of its answer
    bool socket_was_behind = false;     // at that check
    bool stepping = false;              // a callback of it is on the stack: its end waits for that
};

}  // namespace tiderace::http
