#include "tiderace/core/backend/epoll.h"

#if defined(__linux__)

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/waker.h"

namespace tiderace::core {
namespace {

class EpollPoller final : public Poller {
  public:
    EpollPoller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
        TR_CHECK(epoll_ >= 0, "no descriptor left for a loop's epoll");
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = epoll_waker_mark;
        TR_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, waker_.descriptor(), &event) == 0);
    }
    ~EpollPoller() override { ::close(epoll_); }

    int set(int fd, std::uint32_t generation, Interest interest, bool known) override {
        epoll_event event{};
        event.events = (interest.readable ? EPOLLIN : 0U) | (interest.writable ? EPOLLOUT : 0U);
        // The generation is the descriptor's user at this moment: an event for an earlier one
        // misses it.
        event.data.u64 = std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(fd);
        // The caller keeps account of it, because a wrong guess would cost a second call.
        const int operation = known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
        return ::epoll_ctl(epoll_, operation, fd, &event) == 0 ? 0 : -errno;
    }

    // Not left to close(): a child between fork and exec still holds the descriptor, and with it
    // the registration.
    void remove(int fd, Afterwards) override { ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

    int wait(std::span<Ready> out, Duration wait) override {
        const auto room = static_cast<int>(std::min(out.size(), events_.size()));
        const int count = ::epoll_wait(epoll_, events_.data(), room, timeout_ms(wait));
        if (count < 0) return -errno;
        int told = 0;
        for (int i = 0; i < count; ++i) {
            const epoll_event& event = events_[static_cast<std::size_t>(i)];
            if (event.data.u64 == epoll_waker_mark) {
                waker_.clear();
                continue;
            }
            out[static_cast<std::size_t>(told++)] = {
                .fd = static_cast<int>(static_cast<std::uint32_t>(event.data.u64)),
                .generation = static_cast<std::uint32_t>(event.data.u64 >> 32),
                .readable = (event.events & EPOLLIN) != 0,
                .writable = (event.events & EPOLLOUT) != 0,
                .failed = (event.events & (EPOLLERR | EPOLLHUP)) != 0,
            };
        }
        return told;
    }

    void wake() override { waker_.wake(); }

  private:
    int epoll_;
    Waker waker_;
    // A member: 6 KiB that are not laid on the stack in each turn.
    std::array<epoll_event, 512> events_;
};

}  // namespace

std::unique_ptr<Poller> make_epoll_poller() {
    return std::make_unique<EpollPoller>();
}

}  // namespace tiderace::core

#else

namespace tiderace::core {
std::unique_ptr<Poller> make_epoll_poller() {
    return nullptr;
}
}  // namespace tiderace::core

#endif
