// Internal. Doorbell: wakes the log's writer. Ringing never blocks, and stays pending until the
// writer wakes.
//
// ring_if_idle() costs a fence and a load while the writer is awake: the producer publishes and
// then checks whether the writer sleeps; the writer marks itself asleep and then checks for newly
// published lines. With a full fence between on both sides, at least one of them sees the other.
//
// Thread   ring, ring_if_idle: any, from signal handlers too. sleep_*: the writer's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"

namespace tiderace::log {

class Doorbell {
  public:
    static constexpr std::size_t room_max = 7;  // descriptors in sleep_for; more are not waited for

    Doorbell() = default;
    Doorbell(const Doorbell&) = delete;
    Doorbell& operator=(const Doorbell&) = delete;
    ~Doorbell();

    // Before that, ringing does nothing.
    Result<> open();

    void ring();
    void ring_if_idle() {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (idle_.load(std::memory_order_relaxed) && idle_.exchange(false)) ring();
    }

    // Until rung, without any timeout; returns at once when `must_stay_awake()`.
    template <typename F>
    void sleep_until_rung(F&& must_stay_awake) {
        idle_.store(true, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!must_stay_awake()) wait(-1);
        idle_.store(false, std::memory_order_relaxed);
    }
    // Until rung, until one of the descriptors `room` is writable, or for `duration`. True: it was
    // rung.
    bool sleep_for(Duration duration, std::span<const int> room = {});

    // Sleeps that ended, of both kinds; and whether the writer is in the endless one.
    std::uint64_t wakeups() const { return wakeups_.load(std::memory_order_relaxed); }
    bool idle() const { return idle_.load(std::memory_order_relaxed); }

  private:
    bool wait(int timeout_ms, std::span<const int> room = {});

    int wait_descriptor_ = -1;
    int ring_descriptor_ = -1;
    std::atomic<bool> idle_ = false;
    std::atomic<std::uint64_t> wakeups_ = 0;
};

}  // namespace tiderace::log
