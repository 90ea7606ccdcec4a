#include "tiderace/core/backend/epoll_edge.h"

#if defined(__linux__)

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
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
    void ask_again(int fd) override;
    int wait(std::span<Ready> out, Duration wait) override;
    void wake() override { waker_.wake(); }

  private:
    struct State {
        std::uint32_t generation = 0;
        Interest interest;
        Interest ready;       // said, and not exhausted since
        bool failed = false;  // said, and not passed on yet
        bool listed = false;  // in said_

        bool due() const {
            return failed || (ready.readable && interest.readable) ||
                   (ready.writable && interest.writable);
        }
    };

    int tell_kernel(int operation, int fd);
    void take_edges(int count);

    int epoll_;
    Waker waker_;
    std::vector<State> states_;  // by descriptor number
    std::vector<int> said_;      // those with something ready, and some that had
    std::array<epoll_event, 512> events_;
};

int EdgePoller::tell_kernel(int operation, int fd) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    const std::uint64_t generation = states_[static_cast<std::size_t>(fd)].generation;
    event.data.u64 = generation << 32 | static_cast<std::uint32_t>(fd);
    return ::epoll_ctl(epoll_, operation, fd, &event) == 0 ? 0 : -errno;
}

int EdgePoller::set(int fd, std::uint32_t generation, Interest interest, bool known) {
    const auto number = static_cast<std::size_t>(fd);
    grow_for(states_, number);
    State& state = states_[number];
    if (known) {
        state.interest = interest;
        return 0;
    }
    state = State{.generation = generation, .interest = interest, .listed = state.listed};
    return tell_kernel(EPOLL_CTL_ADD, fd);
}

void EdgePoller::remove(int fd) {
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    State& gone = states_[static_cast<std::size_t>(fd)];
    gone = State{.listed = gone.listed};
}

void EdgePoller::exhausted(int fd, Interest what) {
    State& state = states_[static_cast<std::size_t>(fd)];
    if (what.readable) state.ready.readable = false;
    if (what.writable) state.ready.writable = false;
}

void EdgePoller::ask_again(int fd) {
    exhausted(fd, {.readable = true, .writable = true});
    tell_kernel(EPOLL_CTL_MOD, fd);
}

void EdgePoller::take_edges(int count) {
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events_[static_cast<std::size_t>(i)];
        if (event.data.u64 == epoll_waker_mark) {
            waker_.clear();
            continue;
        }
        const auto fd = static_cast<int>(static_cast<std::uint32_t>(event.data.u64));
        State& state = states_[static_cast<std::size_t>(fd)];
        if (state.generation != static_cast<std::uint32_t>(event.data.u64 >> 32)) continue;
        state.ready.readable |= (event.events & (EPOLLIN | EPOLLRDHUP)) != 0;
        state.ready.writable |= (event.events & EPOLLOUT) != 0;
        state.failed |= (event.events & (EPOLLERR | EPOLLHUP)) != 0;
        if (!std::exchange(state.listed, true)) said_.push_back(fd);
    }
}

int EdgePoller::wait(std::span<Ready> out, Duration wait) {
    bool at_once = false;
    for (const int fd : said_) at_once |= states_[static_cast<std::size_t>(fd)].due();
    const int timeout = at_once ? 0 : timeout_ms(wait);
    const int count =
        ::epoll_wait(epoll_, events_.data(), static_cast<int>(events_.size()), timeout);
    if (count < 0 && !at_once) return -errno;
    take_edges(count);

    std::size_t told = 0;
    std::size_t kept = 0;
    for (const int fd : said_) {
        State& state = states_[static_cast<std::size_t>(fd)];
        if (state.due() && told < out.size()) {
            out[told++] = {.fd = fd,
                           .generation = state.generation,
                           .readable = state.ready.readable,
                           .writable = state.ready.writable,
                           .failed = std::exchange(state.failed, false)};
        }
        if (state.ready.any() || state.failed) {
            said_[kept++] = fd;
        } else {
            state.listed = false;
        }
    }
    said_.resize(kept);
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
