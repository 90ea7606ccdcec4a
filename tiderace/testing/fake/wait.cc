#include "tiderace/testing/fake/wait.h"

#include <algorithm>
#include <cerrno>

#include "tiderace/base/check.h"

namespace tiderace::testing {

void FakeWait::count_turn() {
    const Instant now = network_->clock().now();
    turns_in_moment_ = now == last_moment_ ? turns_in_moment_ + 1 : 0;
    last_moment_ = now;
    TR_CHECK(turns_in_moment_ < turns_per_moment_max, "the loop spins");
}

int FakeWait::until(Duration wait, const std::function<int()>& look) {
    count_turn();
    nothing_to_come_ = false;
    ManualClock& clock = network_->clock();
    const bool for_ever = wait < Duration::zero();
    const Instant end = clock.now() + (for_ever ? Duration::zero() : wait);
    if (network_->happens(network_->plan().interrupted)) return -EINTR;
    for (;;) {
        // A turn after each event, wanted or not, so that a test sees what came of it at its time.
        const bool something_happened = network_->run_due_events() > 0;
        const int ready = look();
        if (ready > 0 || something_happened || woken_.exchange(false)) return ready;
        const auto event = network_->next_event();
        if (for_ever && !event) {
            nothing_to_come_ = true;
            return 0;
        }
        // Nothing is ready, so nothing can happen before `next`: the clock jumps there, and hours
        // of a test pass at once.
        const Instant next = for_ever ? *event : event ? std::min(*event, end) : end;
        if (next > clock.now()) clock.advance(next - clock.now());
        if (!for_ever && clock.now() >= end) {
            network_->run_due_events();
            return look();
        }
    }
}

}  // namespace tiderace::testing
