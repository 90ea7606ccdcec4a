// One-shot epoll: the kernel reports a descriptor once and then is silent until it is armed again.
//
// It is made for one epoll that many threads wait in. There a level-triggered descriptor would be
// reported to a second thread while the first still reads it, and an edge could come in the middle;
// one-shot gives it to one thread, which arms it again when it is done. That is one epoll_ctl for
// each event: for a kept connection one call more than the receive and the send.
//
// Here a loop has an epoll of its own, so that none of this happens. The engine exists to show
// the price.
#include "lab/engine/oneshot_poller.h"

#include <cerrno>
#include <new>
#include <utility>

#include "tiderace/core/backend/descriptor_table.h"

namespace tiderace::lab::engine {

// A descriptor:
//
//   armed --an event is reported--> fired --rearm(), before the next wait--> armed
//     ^                               |
//     +-----set() by the observer-----+   (remember() clears `fired`: not armed twice)
//
void OneshotPoller::remember(int fd, std::uint32_t generation, core::Interest interest) {
    const auto number = static_cast<std::size_t>(fd);
    core::grow_for(settings_, number);
    settings_[number] = {.generation = generation, .interest = interest};
}

int OneshotPoller::arm(int operation, int fd, const Setting& setting) {
    const std::uint32_t events = (setting.interest.readable ? EPOLLIN : 0U) |
                                 (setting.interest.writable ? EPOLLOUT : 0U) | EPOLLONESHOT;
    return epoll_.set(operation, fd, setting.generation, events);
}

int OneshotPoller::set(int fd, std::uint32_t generation, core::Interest interest, bool known) {
    try {
        remember(fd, generation, interest);  // armed by this call: not again before the next wait
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }
    return arm(known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, settings_[static_cast<std::size_t>(fd)]);
}

void OneshotPoller::remove(int fd, core::Afterwards) {
    remember(fd, 0, {});
    epoll_.remove(fd);
}

void OneshotPoller::rearm() {
    for (const int fd : fired_) {
        Setting& setting = settings_[static_cast<std::size_t>(fd)];
        // Not the sockets that were removed since or that set() has armed: a second call would
        // cost the same again.
        if (std::exchange(setting.fired, false) && setting.generation != 0) {
            arm(EPOLL_CTL_MOD, fd, setting);
        }
    }
    fired_.clear();
}

int OneshotPoller::wait(std::span<core::Ready> out, Duration wait) {
    rearm();
    const int count = epoll_.wait(out.size(), core::timeout_ms(wait));
    if (count < 0) return count;
    int told = 0;
    for (const epoll_event& event : epoll_.events(count)) {
        if (EpollSet::is_waker(event)) continue;
        const int fd = EpollSet::descriptor_of(event);
        settings_[static_cast<std::size_t>(fd)].fired = true;
        fired_.push_back(fd);
        out[static_cast<std::size_t>(told++)] = {
            .fd = fd,
            .generation = EpollSet::generation_of(event),
            .readable = (event.events & EPOLLIN) != 0,
            .writable = (event.events & EPOLLOUT) != 0,
            .failed = (event.events & (EPOLLERR | EPOLLHUP)) != 0,
        };
    }
    return told;
}

}  // namespace tiderace::lab::engine
