// FakePoller: level-triggered readiness over a FakeNetwork. Where the real ones sleep, this one
// moves the clock on to whatever comes first: an event of the network or the end of the wait.
//
// Thread   One, except that wake() only counts there too.
// Errors   EINTR, and reports of what is not ready, by the network's FaultPlan. A loop that turns
//          turns_per_moment_max times without time passing spins: it aborts.
#pragma once

#include <map>

#include "tiderace/core/backend/poller.h"
#include "tiderace/testing/fake_network.h"

namespace tiderace::testing {

class FakePoller final : public core::Poller {
  public:
    static constexpr std::uint64_t turns_per_moment_max = 200'000;

    explicit FakePoller(FakeNetwork& network) : network_(&network) {}

    // True: the last wait had no end and nothing will ever happen, so it returned at once.
    bool nothing_to_come() const { return nothing_to_come_; }

    const char* name() const override { return "fake"; }
    int set(int fd, std::uint32_t generation, core::Interest interest, bool known) override;
    void remove(int fd) override;
    int wait(std::span<core::Ready> out, Duration wait) override;
    void wake() override { woken_ = true; }

  private:
    struct Watched {
        std::uint32_t generation;
        core::Interest interest;
    };

    int look(std::span<core::Ready> out);
    void count_turn();

    FakeNetwork* network_;
    std::map<int, Watched> watched_;
    int start_after_ = 0;  // where the last look ended, so that everybody has a turn
    bool woken_ = false;
    bool nothing_to_come_ = false;
    Instant last_moment_{};
    std::uint64_t turns_in_moment_ = 0;
};

}  // namespace tiderace::testing
