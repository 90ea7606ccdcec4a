#include "tiderace/testing/fake/stand_in_queue.h"

#include <poll.h>
#include <sys/event.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace tiderace::testing {
namespace {

Duration to_duration(const timespec* wait_max) {
    if (wait_max == nullptr) return Duration(-1);
    return std::chrono::seconds(wait_max->tv_sec) + std::chrono::nanoseconds(wait_max->tv_nsec);
}

short poll_at_once(int fd, short events) {
    pollfd asked{.fd = fd, .events = events, .revents = 0};
    return ::poll(&asked, 1, 0) == 1 ? asked.revents : short{0};
}

int option(int fd, int name) {
    int value = 0;
    socklen_t bytes = sizeof value;
    return ::getsockopt(fd, SOL_SOCKET, name, &value, &bytes) == 0 ? value : 0;
}

}  // namespace

struct StandInQueue::Filter {
    bool enabled = true;
    bool clears = false;
    bool once = false;
    bool triggered = false;  // EVFILT_USER
    void* udata = nullptr;
    std::optional<std::uint64_t> owner;  // of a descriptor's filter: whose it was
    std::optional<Side> said;            // EV_CLEAR: the reported state, while it lasts
};

StandInQueue::StandInQueue() = default;
StandInQueue::~StandInQueue() = default;

std::size_t StandInQueue::filters() const {
    const std::lock_guard held(lock_);
    return filters_.size();
}

int StandInQueue::exchange(std::span<const struct kevent> changes, std::span<struct kevent> events,
                           const timespec* wait_max) {
    std::size_t told = 0;
    bool triggered = false;
    {
        const std::lock_guard held(lock_);
        for (const struct kevent& change : changes) {
            const int outcome = apply(change);
            triggered |= (change.fflags & NOTE_TRIGGER) != 0;
            if (outcome == 0 && (change.flags & EV_RECEIPT) == 0) continue;
            // As kevent(): an error without room in the list becomes the result of the call.
            if (told == events.size()) return outcome;
            events[told] = change;
            events[told].flags = EV_ERROR;
            events[told++].data = -outcome;
        }
    }
    // After the lock: the sleeper that it wakes takes it at once.
    if (triggered) poke();
    if (told > 0 || events.empty()) return static_cast<int>(told);
    return wait(to_duration(wait_max), [&] {
        const std::lock_guard held(lock_);
        return collect(events);
    });
}

bool StandInQueue::is_gone(const Key& key, const Filter& filter) {
    return filter.owner && identity(static_cast<int>(key.first)) != filter.owner;
}

int StandInQueue::apply(const struct kevent& change) {
    if (change.filter != EVFILT_USER) return apply_to_descriptor(change);
    const Key key{change.ident, change.filter};
    if ((change.flags & EV_ADD) != 0) {
        filters_.insert_or_assign(
            key, Filter{.clears = (change.flags & EV_CLEAR) != 0, .udata = change.udata});
    }
    const auto found = filters_.find(key);
    if (found == filters_.end()) return -ENOENT;
    if ((change.flags & EV_DELETE) != 0) {
        filters_.erase(found);
    } else if ((change.fflags & NOTE_TRIGGER) != 0) {
        found->second.triggered = true;
    }
    return 0;
}

int StandInQueue::apply_to_descriptor(const struct kevent& change) {
    if (change.filter != EVFILT_READ && change.filter != EVFILT_WRITE) return -EINVAL;
    const auto owner = identity(static_cast<int>(change.ident));
    if (!owner) return -EBADF;
    const Key key{change.ident, change.filter};
    auto found = filters_.find(key);
    // The number was closed and given away since. In kqueue the filters go with the close, which
    // this queue does not see.
    if (found != filters_.end() && found->second.owner != owner) {
        filters_.erase(found);
        found = filters_.end();
    }
    if (found == filters_.end()) {
        if ((change.flags & EV_ADD) == 0) return -ENOENT;
        found = filters_
                    .emplace(key, Filter{.clears = (change.flags & EV_CLEAR) != 0,
                                         .once = (change.flags & EV_ONESHOT) != 0,
                                         .owner = owner})
                    .first;
    }
    Filter& filter = found->second;
    if ((change.flags & EV_ADD) != 0) {
        filter.udata = change.udata;
        // EV_ADD on a known filter reports the present state once more, as in kqueue.
        filter.said.reset();
    }
    if ((change.flags & EV_ENABLE) != 0) filter.enabled = true;
    if ((change.flags & EV_DISABLE) != 0) filter.enabled = false;
    if ((change.flags & EV_DELETE) != 0) filters_.erase(found);
    return 0;
}

int StandInQueue::collect(std::span<struct kevent> events) {
    std::erase_if(filters_, [&](const auto& one) { return is_gone(one.first, one.second); });
    std::size_t told = 0;
    std::vector<Key> done;
    auto next = filters_.upper_bound(start_after_);
    for (std::size_t i = 0; i < filters_.size() && told < events.size(); ++i, ++next) {
        if (next == filters_.end()) next = filters_.begin();
        auto& [key, filter] = *next;
        if (!filter.enabled || !tell(key, filter, events[told])) continue;
        ++told;
        start_after_ = key;
        if (filter.once) done.push_back(key);
    }
    // Only now: the walk above holds a place in the map.
    for (const Key& key : done) filters_.erase(key);
    return static_cast<int>(told);
}

bool StandInQueue::tell(const Key& key, Filter& filter, struct kevent& event) {
    event = {.ident = key.first, .filter = key.second, .udata = filter.udata};
    event.flags = filter.clears ? EV_CLEAR : 0;
    if (key.second == EVFILT_USER) {
        return filter.clears ? std::exchange(filter.triggered, false) : filter.triggered;
    }
    const Side side = look_at(static_cast<int>(key.first), key.second == EVFILT_WRITE);
    if (!side.ready) {
        filter.said.reset();
        return false;
    }
    if (filter.clears) {
        // The kernel tells each arrival once. Seen from outside, an arrival is a number that
        // changed.
        const bool same = filter.said && filter.said->data == side.data &&
                          filter.said->eof == side.eof && filter.said->error == side.error;
        filter.said = side;
        if (same) return false;
    }
    event.data = side.data;
    event.fflags = side.error;
    if (side.eof) event.flags = static_cast<unsigned short>(event.flags | EV_EOF);
    return true;
}

void StandInQueue::for_each_watched(const std::function<void(int, bool)>& each) {
    const std::lock_guard held(lock_);
    for (const auto& [key, filter] : filters_) {
        // A state that was already reported does not end a sleep.
        if (!filter.enabled || filter.said || key.second == EVFILT_USER) continue;
        each(static_cast<int>(key.first), key.second == EVFILT_WRITE);
    }
}

// ---- the machine's descriptors -----------------------------------------------------------------

std::optional<std::uint64_t> PolledQueue::identity(int fd) {
    struct stat status;
    if (::fstat(fd, &status) != 0) return std::nullopt;
    // A socket's inode is its own; the descriptor's number may be another's next.
    return static_cast<std::uint64_t>(status.st_ino);
}

StandInQueue::Side PolledQueue::look_at(int fd, bool writing) {
    Side side;
    // POLLRDHUP: EV_EOF comes with the peer's FIN, and POLLIN alone would not tell it from bytes.
    const short asked = writing ? POLLOUT : POLLIN | POLLRDHUP;
    const short ready = poll_at_once(fd, asked);
    side.ready = ready != 0;
    if (!side.ready) return side;
    side.eof = (ready & (POLLERR | POLLHUP | POLLRDHUP)) != 0;
    if ((ready & POLLERR) != 0) side.error = ECONNRESET;  // asking for it would take it away
    int bytes = 0;
    if (writing) {
        if (::ioctl(fd, TIOCOUTQ, &bytes) != 0) bytes = 0;
        side.data = std::max(option(fd, SO_SNDBUF) - bytes, 0);
    } else if (option(fd, SO_ACCEPTCONN) != 0) {
        // kqueue tells how many wait there; that it is not none is all that can be seen from here.
        side.data = 1;
    } else if (::ioctl(fd, FIONREAD, &bytes) == 0) {
        side.data = bytes;
    }
    return side;
}

int PolledQueue::wait(Duration wait, const std::function<int()>& look) {
    const auto latest = std::chrono::steady_clock::now() + wait;
    for (;;) {
        if (const int found = look(); found != 0) return found;
        std::vector<pollfd> asked{{.fd = waker_.descriptor(), .events = POLLIN, .revents = 0}};
        for_each_watched([&](int fd, bool writing) {
            const short events = writing ? POLLOUT : POLLIN | POLLRDHUP;
            asked.push_back({.fd = fd, .events = events, .revents = 0});
        });
        const auto left = latest - std::chrono::steady_clock::now();
        if (wait >= Duration::zero() && left <= left.zero()) return 0;
        // Filters with EV_CLEAR that have reported everything are checked now and then.
        const Duration nap = wait < Duration::zero() ? 10ms : std::min<Duration>(left, 10ms);
        if (::poll(asked.data(), asked.size(), core::timeout_ms(nap)) < 0) return -errno;
        if (asked[0].revents != 0) waker_.clear();
    }
}

// ---- the fake network ---------------------------------------------------------------------------

std::optional<std::uint64_t> FakeQueue::identity(int fd) {
    const std::uint64_t opening = network_->opening(fd);
    return opening != 0 ? std::optional(opening) : std::nullopt;
}

StandInQueue::Side FakeQueue::look_at(int fd, bool writing) {
    const FakeSocket& socket = *network_->socket(fd);
    const bool lie = network_->happens(network_->plan().spurious_ready);
    Side side;
    const bool ready = writing ? socket.writable() : socket.readable();
    side.ready = ready || lie || socket.failed();
    side.data = static_cast<std::int64_t>(writing ? socket.room() : socket.unread());
    side.eof = socket.failed() ||
               (ready && side.data == 0 && socket.state() == FakeSocket::State::connected);
    if (socket.failed() && socket.state() != FakeSocket::State::connected) side.error = ECONNRESET;
    return side;
}

int FakeQueue::wait(Duration wait, const std::function<int()>& look) {
    return waiting_->until(wait, look);
}

}  // namespace tiderace::testing
