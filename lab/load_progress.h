// LoadProgress: how far a run is, for who looks on.
//
// Thread   Plain values.
#pragma once

#include <cstdint>

namespace tiderace::lab {

struct LoadProgress {
    std::uint64_t answers = 0;  // right ones
    std::uint64_t errors = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t opened = 0;  // connections, in all
    std::uint64_t connect_errors = 0;
    std::int64_t open = 0;  // connections, now
    bool done = false;

    // Of several workers: done when all are.
    void add(const LoadProgress& other) {
        answers += other.answers;
        errors += other.errors;
        received_bytes += other.received_bytes;
        opened += other.opened;
        connect_errors += other.connect_errors;
        open += other.open;
        done = done && other.done;
    }
};

}  // namespace tiderace::lab
