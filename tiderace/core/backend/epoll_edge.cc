#include "tiderace/core/backend/epoll_edge.h"

#if defined(__linux__)

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/descriptor_table.h"
#include "tiderace/core/backend/epoll.h"
#include "tiderace/core/backend/waker.h"

namespace tiderace::core {
namespace {

class EdgePoller final : public Poller {
  public:
    EdgePoller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
        TR_CHECK(epoll_ >= 0, "no descriptor left for a loop's epoll");
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = epoll_waker_mark;
        TR_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, waker_.descriptor(), &event) == 0);
    }
    ~EdgePoller() override { ::close(epoll_); }

    const char* name() const override { return "epoll-et"; }
    int set(int fd, std::uint32_t generation, Interest interest, bool known) override;
    void remove(int fd) override;
    void exhausted(int fd, Interest what) override;
    void ask_again(int fd, std::uint32_t generation) override;
    int wait(std::span<Ready> out, Duration wait) override;
    void wake() override { waker_.wake(); }

  private:
    // What the kernel said of a descriptor, and what of that is wanted.
    struct State {
        bool wants_readable : 1 = false;
        bool wants_writable : 1 = false;
        bool readable : 1 = false;  // said, and not exhausted since
        bool writable : 1 = false;
        bool ended : 1 = false;   // the peer's end is among what is to be read
        bool failed : 1 = false;  // said, and not passed on yet
        bool listed : 1 = false;  // in due_

        bool is_due() const {
            return failed || (readable && wants_readable) || (writable && wants_writable);
        }
    };
    struct Named {
        int fd;
        std::uint32_t generation;
    };

    State& state(int fd) { return states_[static_cast<std::size_t>(fd)]; }
    int tell_kernel(int operation, int fd, std::uint32_t generation);
    void list(State& which, int fd, std::uint32_t generation) {
        if (!which.listed) due_.push_back({fd, generation});
        which.listed = true;
    }
    void forget_those_not_due();
    void take_edges(int count);

    int epoll_;
    Waker waker_;
    std::vector<State> states_;  // by descriptor number
    std::vector<Named> due_;     // all that is due, those who waited longest first, and some more
    std::array<epoll_event, 512> events_;
};

int EdgePoller::tell_kernel(int operation, int fd, std::uint32_t generation) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(fd);
    return ::epoll_ctl(epoll_, operation, fd, &event) == 0 ? 0 : -errno;
}

int EdgePoller::set(int fd, std::uint32_t generation, Interest interest, bool known) {
    grow_for(states_, static_cast<std::size_t>(fd));
    State& target = state(fd);
    if (!known) target = State{.listed = target.listed};
    target.wants_readable = interest.readable;
    target.wants_writable = interest.writable;
    if (!known) return tell_kernel(EPOLL_CTL_ADD, fd, generation);
    if (target.is_due()) list(target, fd, generation);
    return 0;
}

void EdgePoller::remove(int fd) {
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    state(fd) = State{.listed = state(fd).listed};
}

void EdgePoller::exhausted(int fd, Interest what) {
    State& less = state(fd);
    if (what.readable && !less.ended) less.readable = false;
    if (what.writable) less.writable = false;
}

void EdgePoller::ask_again(int fd, std::uint32_t generation) {
    state(fd).readable = state(fd).writable = false;
    tell_kernel(EPOLL_CTL_MOD, fd, generation);
}

void EdgePoller::forget_those_not_due() {
    std::erase_if(due_, [this](const Named& named) {
        State& which = state(named.fd);
        which.listed = which.is_due();
        return !which.listed;
    });
}

void EdgePoller::take_edges(int count) {
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events_[static_cast<std::size_t>(i)];
        if (event.data.u64 == epoll_waker_mark) {
            waker_.clear();
            continue;
        }
        // Never one of a descriptor that was closed: those were removed before the wait.
        const auto fd = static_cast<int>(static_cast<std::uint32_t>(event.data.u64));
        State& told = state(fd);
        if ((event.events & (EPOLLIN | EPOLLRDHUP)) != 0) told.readable = true;
        if ((event.events & EPOLLOUT) != 0) told.writable = true;
        if ((event.events & EPOLLRDHUP) != 0) told.ended = true;
        if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) told.failed = true;
        if (told.is_due()) list(told, fd, static_cast<std::uint32_t>(event.data.u64 >> 32));
    }
}

int EdgePoller::wait(std::span<Ready> out, Duration wait) {
    forget_those_not_due();
    const int timeout = due_.empty() ? timeout_ms(wait) : 0;
    const int count =
        ::epoll_wait(epoll_, events_.data(), static_cast<int>(events_.size()), timeout);
    if (count < 0 && due_.empty()) return -errno;
    take_edges(count);

    const std::size_t told = std::min(out.size(), due_.size());
    for (std::size_t i = 0; i < told; ++i) {
        const auto [fd, generation] = due_[i];
        State& which = state(fd);
        out[i] = {.fd = fd,
                  .generation = generation,
                  .readable = which.readable,
                  .writable = which.writable,
                  .failed = which.failed};
        which.failed = false;
    }
    // Those that leave something are told again, after the others.
    std::rotate(due_.begin(), due_.begin() + static_cast<std::ptrdiff_t>(told), due_.end());
    return static_cast<int>(told);
}

}  // namespace

std::unique_ptr<Poller> make_edge_poller() {
    return std::make_unique<EdgePoller>();
}

}  // namespace tiderace::core

#else

namespace tiderace::core {
std::unique_ptr<Poller> make_edge_poller() {
    return nullptr;
}
}  // namespace tiderace::core

#endif
