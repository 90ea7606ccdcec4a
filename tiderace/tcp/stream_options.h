// StreamOptions: what a stream waits for. End: why a read gave nothing.
//
// Keywords: slowloris, minimum rate, idle time-out
#pragma once

#include <cstddef>
#include <cstdint>

#include "tiderace/base/units.h"

namespace tiderace::tcp {

// Why a read gave nothing.
enum class End : std::uint8_t {
    none,       // it did not end
    finished,   // the peer ended its direction in order, after a whole frame
    cut_short,  // the same within a frame
    too_long,   // the frame is above its maximum
    silent,     // nothing came for the stream's idle time, or a frame came too slowly
    stopping,   // the server drains, and the peer sent nothing more
    lost,       // reset, stalled or closed; Stream::reason() has the cause
};

struct StreamOptions {
    std::size_t read_bytes_max = 64_KiB;  // unread; above it the peer is pushed back on
    Duration idle = 0s;                   // how long a read waits for the peer; 0: for ever
    // The least rate of a frame that has begun, while a read waits (net/progress_rate.h). A peer
    // that sends a byte now and then is cut off. 0: no limit. A Server's peers have it too: for
    // them a frame has begun when on_data left bytes unused.
    std::uint64_t receive_bytes_per_second_min = 0;
};

}  // namespace tiderace::tcp
