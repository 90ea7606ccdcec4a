#include "tiderace/testing/fake/poller.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "tiderace/base/check.h"

namespace tiderace::testing {
namespace {

// What epoll takes.
int check_outside(int fd) {
    struct stat status{};
    if (::fstat(fd, &status) != 0) return -errno;
    return S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) ? -EPERM : 0;
}

}  // namespace

int FakePoller::set(int fd, std::uint32_t generation, core::Interest interest, bool known) {
    const bool outside = fd < FakeNetwork::first_descriptor;
    if (outside) {
        if (const int fault = check_outside(fd)) return fault;
    } else if (network_->socket(fd) == nullptr) {
        return -EPERM;  // as epoll returns for a plain file
    }
    auto& watched = outside ? outside_ : watched_;
    TR_CHECK(watched.contains(fd) == known, "the backend lost count of what the poller knows");
    watched.insert_or_assign(fd, Watched{generation, interest});
    return 0;
}

void FakePoller::remove(int fd, core::Afterwards) {
    if (fd < FakeNetwork::first_descriptor) {
        TR_CHECK(outside_.erase(fd) == 1, "removed though it was never set");
        return;
    }
    TR_CHECK(network_->socket(fd) != nullptr, "removed after it was closed");
    TR_CHECK(watched_.erase(fd) == 1, "removed though it was never set");
}

int FakePoller::look(std::span<core::Ready> out) {
    std::size_t told = 0;
    // Starts behind the last one reported: with `out` short, the low numbers would otherwise
    // always come first and fill it.
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
        // `failed` also without any interest, as epoll and poll report it.
        if (!ready.readable && !ready.writable && !ready.failed) continue;
        out[told++] = ready;
        start_after_ = fd;
    }
    told += look_outside(out.subspan(told));
    return static_cast<int>(told);
}

std::size_t FakePoller::look_outside(std::span<core::Ready> out) {
    if (outside_.empty()) return 0;
    std::vector<pollfd> asked;
    for (const auto& [fd, watched] : outside_) {
        const int events =
            (watched.interest.readable ? POLLIN : 0) | (watched.interest.writable ? POLLOUT : 0);
        asked.push_back({.fd = fd, .events = static_cast<short>(events), .revents = 0});
    }
    // Does not wait: only the test's clock passes time here.
    if (::poll(asked.data(), asked.size(), 0) <= 0) return 0;
    std::size_t told = 0;
    for (const pollfd& each : asked) {
        if (each.revents == 0 || told == out.size()) continue;
        out[told++] = {.fd = each.fd,
                       .generation = outside_.at(each.fd).generation,
                       .readable = (each.revents & POLLIN) != 0,
                       .writable = (each.revents & POLLOUT) != 0,
                       .failed = (each.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0};
    }
    return told;
}

}  // namespace tiderace::testing
