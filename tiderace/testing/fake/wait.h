// FakeWait: where a real poller sleeps, this moves the clock on to whatever comes first: an event
// of the fake network or the end of the wait.
//
// Thread   One, but wake() any.
// Errors   EINTR by the network's FaultPlan. A loop that turns turns_per_moment_max times without
//          time passing spins: it aborts.
#pragma once

#include <atomic>
#include <functional>

#include "tiderace/testing/fake/network.h"

namespace tiderace::testing {

class FakeWait {
  public:
    static constexpr std::uint64_t turns_per_moment_max = 200'000;

    explicit FakeWait(FakeNetwork& network) : network_(&network) {}

    // Calls `look`, which returns how much is ready, until that is more than 0, something happened,
    // a wake() came or `wait` is over (negative: never). Returns what it found last, or -EINTR.
    int until(Duration wait, const std::function<int()>& look);
    // Starts a new count for this moment, because the test that drives the loop has added new work.
    void forget_turns() { turns_in_moment_ = 0; }
    void wake() { woken_.store(true, std::memory_order_release); }
    // True: the last wait had no end and nothing will ever happen, so it returned at once.
    bool nothing_to_come() const { return nothing_to_come_; }

  private:
    void count_turn();

    FakeNetwork* network_;
    std::atomic<bool> woken_ = false;
    bool nothing_to_come_ = false;
    Instant last_moment_{};
    std::uint64_t turns_in_moment_ = 0;
};

}  // namespace tiderace::testing
