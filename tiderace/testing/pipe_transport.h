// PipeTransport: a Transport in memory, two ends, so that a protocol runs without sockets.
//
// It answers as a completion engine does: bytes that found no room are taken later, by the pipe
// itself, and on_sent() then tells how many (a positive number, which a readiness engine never
// gives).
//
// Owner    Each end its Connection or TransportPeer; they may go in any order.
// Thread   The loop's. Outcomes come in a later turn, never inside a call.
// Limits   Each direction holds `capacity` bytes that the other end has not taken.
#pragma once

#include <cstddef>
#include <memory>

#include "tiderace/core/event_loop.h"
#include "tiderace/net/transport.h"

namespace tiderace::testing {

struct Pipe {
    std::unique_ptr<net::Transport> near;
    std::unique_ptr<net::Transport> far;
};

struct PipeOptions {
    std::size_t capacity = 64_KiB;
    std::size_t bytes_per_delivery_max = 64_KiB;  // at most, for one on_received
};

Pipe make_pipe(core::EventLoop& loop, const PipeOptions& options = {});

}  // namespace tiderace::testing
