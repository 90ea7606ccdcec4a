// OneshotPoller: epoll, one-shot. An event is reported once, and the descriptor is silent until it
// is armed again: one epoll_ctl for each event.
//
// Several threads may wait on one such set, and each event goes to one of them. Here there is one
// thread, which arms what was reported before the next wait; the lab measures what that costs.
//
// Owner    A ReadinessBackend.
// Thread   The loop's, except wake().
// Memory   12 bytes a descriptor number.
#pragma once

#include <vector>

#include "lab/engine/epoll_set.h"
#include "tiderace/core/backend/poller.h"

namespace tiderace::lab::engine {

class OneshotPoller final : public core::Poller {
  public:
    int set(int fd, std::uint32_t generation, core::Interest interest, bool known) override;
    void remove(int fd, core::Afterwards) override;
    int wait(std::span<core::Ready> out, Duration wait) override;
    void wake() override { epoll_.wake(); }

  private:
    // As it is armed again. Generation 0: removed.
    struct Setting {
        std::uint32_t generation = 0;
        core::Interest interest;
        bool fired = false;
    };

    void remember(int fd, std::uint32_t generation, core::Interest interest);
    int arm(int operation, int fd, const Setting& setting);
    void rearm();

    EpollSet epoll_;
    std::vector<Setting> settings_;  // by descriptor number
    std::vector<int> fired_;         // to be armed again before the next wait
};

}  // namespace tiderace::lab::engine
