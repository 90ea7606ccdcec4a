// ExchangeDoor: the way back from other threads to the exchanges of one loop that wait for them.
//
//   loop: exchange.handle() -> any thread: handle.post(f) -> the loop's mailbox -> f(exchange),
//   if that exchange still waits; otherwise the call is counted as late, and that is all
//
// A pointer or Ref never leaves its loop: a handle is a number and a generation.
//
// Owner    Site makes it for the first handle and closes it; the handles keep it alive.
// Thread   ExchangeHandle, missed(): any. The rest: the loop's.
// Errors   post() is false where the call can never run: the loop ended, or its mailbox is full.
// Limits   The mailbox's.
// Memory   A slot (16 bytes) for each exchange with a handle.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "tiderace/base/slot_map.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/core/event_loop.h"

namespace tiderace::http {

class Exchange;
class ExchangeDoor;

// Names an exchange on any thread; copies name the same one.
class ExchangeHandle {
  public:
    using Call = unique_function<void(Exchange&)>;

    ExchangeHandle() = default;  // names none
    // Calls `call` on the exchange's loop, in a later turn, if the exchange was neither answered
    // nor abandoned by then. What it throws is answered as a handler's exception is.
    bool post(Call call) const;

  private:
    friend class Exchange;
    ExchangeHandle(std::shared_ptr<ExchangeDoor> door, SlotId id)
        : door_(std::move(door)), id_(id) {}

    std::shared_ptr<ExchangeDoor> door_;
    SlotId id_;
};

class ExchangeDoor {
  public:
    explicit ExchangeDoor(core::EventLoop& loop) : loop_(&loop) {}

    SlotId enter(Exchange& exchange) { return exchanges_.emplace(&exchange).id; }
    void leave(SlotId id) { exchanges_.erase(id); }
    // The loop or its site ends: what is posted from now on is refused.
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
