#include "tiderace/core/backend/epoll.h"

#if defined(__linux__)

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/descriptor_table.h"
#include "tiderace/core/backend/waker.h"

namespace tiderace::core {
namespace {

class EpollPoller final : public Poller {
  public:
    EpollPoller(const char* name, EpollMode mode)
        : name_(name), mode_(mode), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
        TR_CHECK(epoll_ >= 0, "no descriptor left for a loop's epoll");
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = epoll_waker_mark;
        TR_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, waker_.descriptor(), &event) == 0);
    }
    ~EpollPoller() override { ::close(epoll_); }

    const char* name() const override { return name_; }

    int set(int fd, std::uint32_t generation, Interest interest, bool known) override {
        if (mode_ == EpollMode::oneshot) remember(fd, generation, interest);
        return tell_kernel(known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, generation, interest);
    }

    // Not left to close(): a child between fork and exec still holds the descriptor, and with it
    // the registration.
    void remove(int fd) override {
        if (mode_ == EpollMode::oneshot) remember(fd, 0, {});
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    }

    int wait(std::span<Ready> out, Duration wait) override {
        if (!said_.empty()) set_again();
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
            const auto fd = static_cast<int>(static_cast<std::uint32_t>(event.data.u64));
            if (mode_ == EpollMode::oneshot) note_said(fd);
            out[static_cast<std::size_t>(told++)] = {
                .fd = fd,
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
    // What a descriptor was set to, where it is said only once.
    struct Setting {
        std::uint32_t generation = 0;
        Interest interest;
        bool said = false;
    };

    int tell_kernel(int operation, int fd, std::uint32_t generation, Interest interest) {
        epoll_event event{};
        event.events = (interest.readable ? EPOLLIN : 0U) | (interest.writable ? EPOLLOUT : 0U) |
                       (mode_ == EpollMode::oneshot ? EPOLLONESHOT : 0U);
        event.data.u64 = std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(fd);
        return ::epoll_ctl(epoll_, operation, fd, &event) == 0 ? 0 : -errno;
    }
    void remember(int fd, std::uint32_t generation, Interest interest) {
        const auto number = static_cast<std::size_t>(fd);
        grow_for(settings_, number);
        settings_[number] = {.generation = generation, .interest = interest};
    }
    void note_said(int fd) {
        settings_[static_cast<std::size_t>(fd)].said = true;
        said_.push_back(fd);
    }
    void set_again() {
        for (const int fd : said_) {
            Setting& setting = settings_[static_cast<std::size_t>(fd)];
            if (!std::exchange(setting.said, false) || setting.generation == 0) continue;
            tell_kernel(EPOLL_CTL_MOD, fd, setting.generation, setting.interest);
        }
        said_.clear();
    }

    const char* name_;
    EpollMode mode_;
    int epoll_;
    Waker waker_;
    std::vector<Setting> settings_;  // by descriptor number; one-shot only
    std::vector<int> said_;          // to be set again before the next wait; one-shot only
    std::array<epoll_event, 512> events_;
};

}  // namespace

std::unique_ptr<Poller> make_epoll_poller(const char* name, EpollMode mode) {
    return std::make_unique<EpollPoller>(name, mode);
}

}  // namespace tiderace::core

#else

namespace tiderace::core {
std::unique_ptr<Poller> make_epoll_poller(const char*, EpollMode) {
    return nullptr;
}
}  // namespace tiderace::core

#endif
