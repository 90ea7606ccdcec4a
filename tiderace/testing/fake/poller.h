// FakePoller: level-triggered readiness over a FakeNetwork, at its own time (fake_wait.h).
//
// A descriptor of the real system is polled where it is, without waiting: a database's connection,
// which a test in memory may use.
//
// Thread   One, but wake() any.
// Errors   Reports of what is not ready, by the network's FaultPlan.
#pragma once

#include <map>

#include "tiderace/core/backend/poller.h"
#include "tiderace/testing/fake/wait.h"

namespace tiderace::testing {

class FakePoller final : public core::Poller {
  public:
    FakePoller(FakeNetwork& network, FakeWait& waiting) : network_(&network), waiting_(&waiting) {}

    int set(int fd, std::uint32_t generation, core::Interest interest, bool known) override;
    void remove(int fd, core::Afterwards) override;
    int wait(std::span<core::Ready> out, Duration wait) override {
        return waiting_->until(wait, [&] { return look(out); });
    }
    void wake() override { waiting_->wake(); }

  private:
    struct Watched {
        std::uint32_t generation;
        core::Interest interest;
    };

    int look(std::span<core::Ready> out);
    std::size_t look_outside(std::span<core::Ready> out);

    FakeNetwork* network_;
    FakeWait* waiting_;
    std::map<int, Watched> watched_;
    std::map<int, Watched> outside_;  // descriptors of the real system
    int start_after_ = 0;             // where the last look ended, so that everybody has a turn
};

}  // namespace tiderace::testing
