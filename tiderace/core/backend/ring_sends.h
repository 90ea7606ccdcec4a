// RingSends: answers that were given to io_uring, and a copy of their bytes until it has reported
// how much it took.
//
//   queue --take()--> a slot and its bytes here --the kernel's completion--> finish(): what was not
//                                                              taken goes back to the queue's front
//
// The copy is small, lies beside the others of the turn, and makes the queue's block free for the
// next answer: many that leave together would otherwise hold a block each. Nothing that happens to
// the connection can free or change what the kernel reads.
//
// An operation asks with MSG_DONTWAIT: the kernel does it in the call that hands it over, or says
// that there is no room. None ever waits, so none has to be cancelled.
//
// Owner    The io_uring backend.
// Thread   The loop's.
// Limits   ring_send_bytes_max an answer; ring_sends_max and ring_sends_bytes_max in all. What
//          fits() refuses goes by system call.
// Memory   ring_sends_bytes_max and the slots, from the first use on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/core/backend.h"
#include "tiderace/core/send_queue.h"

namespace tiderace::core {

// Above it the copies are what a send costs, and the call nothing beside them.
inline constexpr std::size_t ring_send_bytes_max = 4_KiB;
inline constexpr std::size_t ring_sends_bytes_max = 128_KiB;
inline constexpr std::size_t ring_sends_max = 1'024;

class RingSends {
  public:
    // Whether all of `queue` is memory and there is room for it.
    bool fits(const SendQueue& queue) const;

    struct Asked {
        std::uint32_t slot;
        ByteView bytes;
    };
    // Takes all of `queue`, which fits and stays where it is until finish() or forget().
    Asked take(IoHandle handle, SendQueue& queue);

    // The kernel took so many bytes; the rest returns to the front of the queue.
    // Returns the sender's handle; an empty one if it was forgotten.
    IoHandle finish(std::uint32_t slot, std::uint64_t taken);

    // What this handle has under way: it must have.
    Asked find(IoHandle handle) const;
    // The descriptor goes away: nothing is put back.
    void forget(std::uint32_t slot) { slots_[slot].from = nullptr; }

  private:
    struct Slot {
        IoHandle handle;
        ByteView bytes;
        SendQueue* from = nullptr;
    };

    std::unique_ptr<char[]> memory_;
    std::size_t used_ = 0;
    std::vector<Slot> slots_;  // of this turn: all in flight or all finished
    std::size_t under_way_ = 0;
};

}  // namespace tiderace::core
