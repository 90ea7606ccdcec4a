// Internal. BodySource: a body that is made while it is sent.
//
//   respond() -> attach() -> filters -> pull() … pull() -> end
//                              |          ^
//                              +-> wait --+ body_ready()
//
// Owner    The Response, and then the exchange that sends it.
// Thread   The loop's.
// Errors   `failed`, or an exception: the answer is broken off, so that the client sees it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tiderace/base/bytes.h"
#include "tiderace/core/send_queue.h"

namespace tiderace::http {

class Exchange;

// Pulled only when the connection has room.
class BodySource {
  public:
    enum class State : std::uint8_t {
        more,  // pull again when there is room; without bytes, see empty_pulls_max
        wait,  // nothing now: call Exchange::body_ready() when there is
        end,
        failed,  // cannot go on: the connection is broken off, so that the peer sees it
    };
    static constexpr std::size_t pull_bytes = 31_KiB;  // with its frame it fits in a block
    // After so many pulls in a row that returned `more` without a byte, the next comes in the next
    // turn of the loop, so that others are served. It keeps the loop busy: `wait` costs nothing.
    static constexpr std::uint8_t empty_pulls_max = 16;

    virtual ~BodySource() = default;
    // It is the body of this exchange's answer, which will pull it. Before the first pull, and
    // perhaps twice.
    virtual void attach(Exchange&) {}
    // Appends about `bytes_wanted` to `out`. Called on the loop; must not block.
    virtual State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t bytes_wanted) = 0;
};

}  // namespace tiderace::http
