// H2EarlyPriorities: PRIORITY_UPDATE for streams that the peer has not opened yet (RFC 9218,
// section 7.1). The last of each is kept until the stream opens, or cannot open any more.
//
// Owner    The connection.
// Thread   One at a time.
// Errors   keep() is false when the peer names more streams than it may open: PROTOCOL_ERROR.
// Limits   What the caller gives keep(): the streams that could still be opened.
// Memory   None while it is empty; eight bytes for each stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tiderace/http/wire/h2/priority.h"

namespace tiderace::http::wire {

class H2EarlyPriorities {
  public:
    // `stream` is idle. At most `streams_max` are kept.
    [[nodiscard]] bool keep(std::uint32_t stream, H2Priority priority, std::size_t streams_max);
    // The priority that arrived for `stream`, which opens now. Lower numbers are closed and
    // forgotten.
    std::optional<H2Priority> take(std::uint32_t stream);

    std::size_t size() const { return early_.size(); }

  private:
    struct Early {
        std::uint32_t stream;
        H2Priority priority;
    };
    static_assert(sizeof(Early) == 8);

    std::vector<Early> early_;  // by number
};

}  // namespace tiderace::http::wire
