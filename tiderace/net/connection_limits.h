// Internal. ConnectionLimits: how much a connection may hold, and how slow its peer may be.
// Keywords: back-pressure, high watermark, slowloris, slow reader
#pragma once

#include <cstdint>

#include "tiderace/base/units.h"

namespace tiderace::net {

struct ConnectionLimits {
    std::size_t queue_bytes_max = 4_MiB;  // hard, of copied bytes; above: queue_overflow
    // above it reading pauses; write() returns Backlog::high
    std::size_t queue_bytes_high = 256_KiB;
    std::size_t queue_bytes_low = 64_KiB;    // on_drained fires when the queue falls to this
    std::size_t unread_bytes_max = 128_KiB;  // hard; bytes kept for on_data that it did not use
    // The peer takes something at least this often: its system acknowledges it. With a rate, what
    // it took buys time, bytes ÷ rate, up to ten times `write`.
    Duration write = 30s;
    std::uint64_t send_bytes_per_second_min = 0;  // 0: one byte will do
    Duration linger = 2s;                         // how long finish() waits for the peer's own end
};

}  // namespace tiderace::net
