// SendRelief: frees memory when a loop's unsent bytes, in blocks and in shared bodies, pass their
// limit (BlockPool): the holders that hold most, and have for long, are cut until an eighth of the
// limit is free. A holder is weighed by bytes times milliseconds, so that an answer that was just
// made is not taken for the answer of a peer that does not read.
//
// At most a quarter of the limit counts for one holder's shared bodies: a single answer may be
// larger than the limit, and nothing is wrong with it.
//
// Owner    An EventLoop. The holders are borrowed: each leaves the list when it ends.
// Thread   The loop's.
// Limits   The pool's limit, checked once a turn: a turn may pass it by its own output, which is
//          little while it is passed, since writers are pushed back on then (BlockPool::scarce).
#pragma once

#include <cstdint>
#include <vector>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/thread_role.h"
#include "tiderace/base/units.h"
#include "tiderace/core/send_queue.h"

namespace tiderace::core {

// A holder of blocks of a loop's pool, for peers that may be slow to read: a server.
class SendHolder : private ListHook {
  public:
    // What is held for one peer.
    struct Holding {
        HeldBytes held;
        std::uint64_t id = 0;          // the holder's own
        SendHolder* holder = nullptr;  // filled in by SendRelief
    };

    virtual std::vector<Holding> holdings() TR_ON_LOOP = 0;
    // Frees the memory that is held for this peer, in this turn.
    virtual void give_up(std::uint64_t id) TR_ON_LOOP = 0;

  protected:
    virtual ~SendHolder() = default;

  private:
    template <typename T>
    friend class tiderace::IntrusiveList;
};

class SendRelief {
  public:
    void add(SendHolder& holder) { holders_.push_back(holder); }
    // How many holdings were given up.
    std::size_t relieve(const BlockPool& pool) TR_ON_LOOP;

  private:
    IntrusiveList<SendHolder> holders_;
};

}  // namespace tiderace::core
