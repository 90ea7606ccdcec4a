// ExchangeRegistry: the way back from other threads to the exchanges of one loop that wait for them
// (exchange_handle.h).
//
// Owner    Site makes it for the first handle and closes it; the handles keep it alive.
// Thread   missed(): any. The rest: the loop's.
// Limits   The mailbox's.
// Memory   A slot (16 bytes) for each exchange with a handle.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "tiderace/base/slot_map.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/exchange_handle.h"

namespace tiderace::http {

class ExchangeRegistry {
  public:
    explicit ExchangeRegistry(core::EventLoop& loop) : loop_(&loop) {}

    SlotId enter(Exchange& exchange) { return exchanges_.emplace(&exchange).id; }
    void leave(SlotId id) { exchanges_.erase(id); }
    // The loop or its site ends: later posts are refused.
    void close();

    // Calls whose exchange was answered or gone when they came, or whose loop was.
    std::uint64_t missed() const { return missed_.load(std::memory_order_relaxed); }

  private:
    friend class ExchangeHandle;
    struct Entry {
        Entry(SlotId i, Exchange* e) : id(i), exchange(e) {}
        SlotId id;
        Exchange* exchange;
    };

    void run(SlotId id, ExchangeHandle::Call& call);
    void miss() { missed_.fetch_add(1, std::memory_order_relaxed); }

    std::mutex lock_;
    core::EventLoop* loop_;  // under lock_; nullptr once closed
    SlotMap<Entry> exchanges_;
    std::atomic<std::uint64_t> missed_ = 0;
};

}  // namespace tiderace::http
