// Internal. Sink: where a stream's lines end: a file, the console, or your own (see
// collecting_sink.h).
//
// Thread   The writer's only, so a sink may block: producers fill their rings meanwhile, then drop.
// Errors   Lines that it does not take are offered again a flush interval later, or when there is
//          room. A throwing sink has taken nothing.
#pragma once

#include <cstddef>
#include <optional>

#include "tiderace/base/bytes.h"
#include "tiderace/base/result.h"

namespace tiderace::log {

class Sink {
  public:
    struct Written {
        std::size_t bytes = 0;         // taken, 0 .. all; the rest comes again
        std::optional<Error> trouble;  // said in the log when it begins and when it is over
        // With trouble: a descriptor that becomes writable when there is room (a pipe is full). The
        // writer goes on as soon as it does, and this is no trouble unless it lasts.
        int room_at = -1;
    };

    virtual ~Sink() = default;
    // One or more lines, each ending in \n; never empty. After a short answer it goes on where the
    // answer said, even inside a line.
    virtual Written write(ByteView lines) = 0;
    // Asked for by Writer::reopen(). On failure the old destination stays in use.
    virtual Result<> reopen() { return {}; }
};

}  // namespace tiderace::log
