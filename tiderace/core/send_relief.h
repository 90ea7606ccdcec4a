// SendRelief: what a loop does when the blocks of unsent bytes pass their limit (BlockPool): those
// who hold most give theirs up, until an eighth of the limit is free.
//
// Owner    An EventLoop. The holders are borrowed: each leaves the list when it ends.
// Thread   The loop's.
// Limits   The pool's limit, looked at once a turn: a turn may pass it by what it adds, which is
//          little while it is passed, since writers are pushed back on then (BlockPool::scarce).
#pragma once

#include <cstdint>
#include <vector>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/thread_role.h"
#include "tiderace/core/send_queue.h"

namespace tiderace::core {

// Holds blocks of a loop's pool for peers, which may be slow to take them: a server.
class SendHolder : private ListHook {
  public:
    // What is held for one peer.
    struct Holding {
        std::uint64_t bytes = 0;
        std::uint64_t id = 0;          // the holder's own
        SendHolder* holder = nullptr;  // filled in by whoever asks
    };

    virtual std::vector<Holding> holdings() TR_ON_LOOP = 0;
    // Gives back what is held for this peer, in this turn.
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
