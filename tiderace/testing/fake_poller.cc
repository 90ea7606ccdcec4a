#include "tiderace/testing/fake_poller.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::testing {

int FakePoller::set(int fd, std::uint32_t generation, core::Interest interest, bool known) {
    TR_CHECK(network_->socket(fd) != nullptr, "only the fake network's sockets can be watched");
    TR_CHECK(watched_.contains(fd) == known, "the backend lost count of what the poller knows");
    watched_.insert_or_assign(fd, Watched{generation, interest});
    return 0;
}

void FakePoller::remove(int fd) {
    TR_CHECK(network_->socket(fd) != nullptr, "removed after it was closed");
    TR_CHECK(watched_.erase(fd) == 1, "removed though it was never set");
}

void FakePoller::count_turn() {
    const Instant now = network_->clock().now();
    turns_in_moment_ = now == last_moment_ ? turns_in_moment_ + 1 : 0;
    last_moment_ = now;
    TR_CHECK(turns_in_moment_ < turns_per_moment_max, "the loop spins");
}

int FakePoller::look(std::span<core::Ready> out) {
    std::size_t told = 0;
    auto next = watched_.upper_bound(start_after_);
    for (std::size_t i = 0; i < watched_.size() && told < out.size(); ++i, ++next) {
        if (next == watched_.end()) next = watched_.begin();
        const auto& [fd, watched] = *next;
        const FakeSocket& socket = *network_->socket(fd);
        const bool lie =
            watched.interest.any() && network_->happens(network_->plan().spurious_ready);
        const core::Ready ready{
            .fd = fd,
            .generation = watched.generation,
            .readable = watched.interest.readable && (lie || socket.readable()),
            .writable = watched.interest.writable && (lie || socket.writable()),
            .failed = socket.failed(),
        };
        if (!ready.readable && !ready.writable && !ready.failed) continue;
        out[told++] = ready;
        start_after_ = fd;
    }
    return static_cast<int>(told);
}

int FakePoller::wait(std::span<core::Ready> out, Duration wait) {
    count_turn();
    nothing_to_come_ = false;
    ManualClock& clock = network_->clock();
    const bool for_ever = wait < Duration::zero();
    const Instant end = clock.now() + (for_ever ? Duration::zero() : wait);
    if (network_->happens(network_->plan().interrupted)) return -EINTR;
    for (;;) {
        // A turn after each event, wanted or not, so that a test sees what came of it at its time.
        const bool something_happened = network_->run_due_events() > 0;
        const int ready = look(out);
        if (ready > 0 || something_happened || std::exchange(woken_, false)) return ready;
        const auto event = network_->next_event();
        if (for_ever && !event) {
            nothing_to_come_ = true;
            return 0;
        }
        const Instant next = for_ever ? *event : event ? std::min(*event, end) : end;
        if (next > clock.now()) clock.advance(next - clock.now());
        if (!for_ever && clock.now() >= end) {
            network_->run_due_events();
            return look(out);
        }
    }
}

}  // namespace tiderace::testing
