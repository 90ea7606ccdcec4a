#include "tiderace/testing/fake/poller.h"

#include <cerrno>

#include <algorithm>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::testing {

int FakePoller::set(int fd, std::uint32_t generation, core::Interest interest, bool known) {
    if (network_->socket(fd) == nullptr) return -EPERM;  // as epoll returns for a plain file
    TR_CHECK(watched_.contains(fd) == known, "the backend lost count of what the poller knows");
    watched_.insert_or_assign(fd, Watched{generation, interest});
    return 0;
}

void FakePoller::remove(int fd, core::Afterwards) {
    TR_CHECK(network_->socket(fd) != nullptr, "removed after it was closed");
    TR_CHECK(watched_.erase(fd) == 1, "removed though it was never set");
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

}  // namespace tiderace::testing
