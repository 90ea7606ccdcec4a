// What a test reads from a ring in the writer's place.
//
// Thread   The ring's reader.
#pragma once

#include <string>

#include "tiderace/log/ring.h"

namespace tiderace::log {

// All that is published by now, taken out.
inline std::string take_all(Ring& ring) {
    std::string all;
    const std::uint64_t end = ring.published();
    for (ByteView piece = ring.readable(end); !piece.empty(); piece = ring.readable(end)) {
        all += piece;
        ring.consume(piece.size());
    }
    return all;
}

}  // namespace tiderace::log
