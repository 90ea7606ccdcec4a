#include "tiderace/core/backend/select.h"

#include <sys/select.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "tiderace/core/backend/waker.h"

namespace tiderace::core {
namespace {

class SelectPoller final : public Poller {
  public:
    SelectPoller() {
        FD_ZERO(&readable_);
        FD_ZERO(&writable_);
        if (!has_place()) return;
        FD_SET(waker_.descriptor(), &readable_);
        highest_ = waker_.descriptor();
    }
    // Whether the sets have a bit for the waker's number.
    bool has_place() const { return waker_.descriptor() < FD_SETSIZE; }

    int set(int fd, std::uint32_t generation, Interest interest, bool) override {
        // FD_SET beyond the set would write behind it.
        if (fd >= FD_SETSIZE) return -EMFILE;
        interest.readable ? FD_SET(fd, &readable_) : FD_CLR(fd, &readable_);
        interest.writable ? FD_SET(fd, &writable_) : FD_CLR(fd, &writable_);
        generations_[static_cast<std::size_t>(fd)] = generation;
        highest_ = std::max(highest_, fd);
        return 0;
    }

    void remove(int fd, Afterwards) override {
        FD_CLR(fd, &readable_);
        FD_CLR(fd, &writable_);
        // select() looks at every number up to the highest, so a stale one costs each turn.
        while (highest_ > waker_.descriptor() && !watched(highest_)) --highest_;
    }

    int wait(std::span<Ready> out, Duration wait) override {
        // Copies, because select() overwrites its sets.
        fd_set readable = readable_;
        fd_set writable = writable_;
        timeval limit = to_timeval(wait);
        const int count = ::select(highest_ + 1, &readable, &writable, nullptr,
                                   wait < Duration::zero() ? nullptr : &limit);
        if (count < 0) return -errno;
        if (FD_ISSET(waker_.descriptor(), &readable)) waker_.clear();
        int told = 0;
        // Starts where the last one stopped, as in poll.cc.
        for (int i = 0; i <= highest_ && static_cast<std::size_t>(told) < out.size(); ++i) {
            const int fd = (start_ + i) % (highest_ + 1);
            const bool can_read = FD_ISSET(fd, &readable);
            const bool can_write = FD_ISSET(fd, &writable);
            if (fd == waker_.descriptor() || !(can_read || can_write)) continue;
            out[static_cast<std::size_t>(told++)] = {
                .fd = fd,
                .generation = generations_[static_cast<std::size_t>(fd)],
                .readable = can_read,
                .writable = can_write,
            };
            if (static_cast<std::size_t>(told) == out.size()) start_ = fd + 1;
        }
        return told;
    }

    void wake() override { waker_.wake(); }

  private:
    bool watched(int fd) const { return FD_ISSET(fd, &readable_) || FD_ISSET(fd, &writable_); }

    static timeval to_timeval(Duration wait) {
        // Rounded up: a wait that ends before its timer is due would be a turn for nothing.
        const auto micro = std::chrono::ceil<std::chrono::microseconds>(wait).count();
        const std::int64_t bounded = std::clamp<std::int64_t>(micro, 0, 86'400'000'000);
        timeval time{};
        time.tv_sec = static_cast<decltype(time.tv_sec)>(bounded / 1'000'000);
        time.tv_usec = static_cast<decltype(time.tv_usec)>(bounded % 1'000'000);
        return time;
    }

    Waker waker_;
    fd_set readable_;
    fd_set writable_;
    int highest_ = 0;
    int start_ = 0;
    std::array<std::uint32_t, FD_SETSIZE> generations_{};
};

}  // namespace

std::unique_ptr<Poller> make_select_poller() {
    auto made = std::make_unique<SelectPoller>();
    return made->has_place() ? std::move(made) : nullptr;
}

}  // namespace tiderace::core
