// Edge-triggered epoll, and what it takes to use it safely.
//
//   level   epoll_wait reports a socket as long as bytes are there: a reader may take some of them
//   edge    it reports it once, when bytes come: bytes that a reader leaves are not reported again,
//           unless further bytes come
//
// Servers with edges therefore read until EAGAIN, which is one more call for each request, and a
// peer that sends without a pause holds their loop. This poller does neither. It remembers an edge
// until a call has taken everything, which a short count proves as well as EAGAIN
// (noting_kernel.h), and so is level-triggered to those above it.
//
// What is gained: no epoll_ctl when an interest changes, because both directions are registered
// from the start, and no second look of the kernel at a socket whose bytes were taken in part.
// What it costs: a memory of what was reported, and care. One event that is forgotten anywhere is a
// connection that stands until its deadline.
#include "lab/engine/edge_poller.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "tiderace/core/backend/descriptor_table.h"

namespace tiderace::lab::engine {
namespace {

// Both directions from the start: an interest that was added later would be a call, and report what
// is ready already. RDHUP apart from IN: a short count proves the bytes exhausted, and not the end.
constexpr std::uint32_t edges = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

}  // namespace

int EdgePoller::set(int fd, std::uint32_t generation, core::Interest interest, bool known) {
    try {
        core::grow_for(states_, static_cast<std::size_t>(fd));
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }
    State& target = state(fd);
    // due_ may still hold this number for the descriptor that had it before (`listed`). The next
    // wait() drops that entry before it takes a new edge.
    if (!known) target = State{.listed = target.listed};
    target.wants_readable = interest.readable;
    target.wants_writable = interest.writable;
    if (!known) return epoll_.set(EPOLL_CTL_ADD, fd, generation, edges);
    if (!target.called) return ask_again(fd, generation);
    // Reported earlier, and not wanted then: the kernel will not report it again, so it is passed
    // on from memory.
    if (target.is_due()) list(target, fd, generation);
    return 0;
}

void EdgePoller::remove(int fd, core::Afterwards) {
    epoll_.remove(fd);
    state(fd) = State{.listed = state(fd).listed};
}

void EdgePoller::note_call(int fd, core::Interest exhausted) {
    // A send may come before any interest. Nothing has to be remembered then: with the first one
    // the kernel reports all that is ready. And no memory is needed here: the bytes have left.
    if (static_cast<std::size_t>(fd) >= states_.size()) return;
    State& less = state(fd);
    less.called = true;
    // An end is found by the receive that returns 0, and the kernel reports it only once.
    if (exhausted.readable && !less.ended) less.readable = false;
    if (exhausted.writable) less.writable = false;
}

// A change of a registration makes the kernel report what is ready now.
int EdgePoller::ask_again(int fd, std::uint32_t generation) {
    state(fd).readable = state(fd).writable = false;
    return epoll_.set(EPOLL_CTL_MOD, fd, generation, edges);
}

void EdgePoller::list(State& which, int fd, std::uint32_t generation) {
    if (!which.listed) due_.push_back({fd, generation});
    which.listed = true;
}

void EdgePoller::forget_those_not_due() {
    std::erase_if(due_, [this](const Named& named) {
        State& which = state(named.fd);
        if (which.is_due() && !which.called) ask_again(named.fd, named.generation);
        which.listed = which.is_due();
        return !which.listed;
    });
}

void EdgePoller::take_edges(int count) {
    for (const epoll_event& event : epoll_.events(count)) {
        if (EpollSet::is_waker(event)) continue;
        // Never one of a descriptor that was closed: those were removed before the wait.
        const int fd = EpollSet::descriptor_of(event);
        State& told = state(fd);
        if ((event.events & (EPOLLIN | EPOLLRDHUP)) != 0) told.readable = true;
        if ((event.events & EPOLLOUT) != 0) told.writable = true;
        if ((event.events & EPOLLRDHUP) != 0) told.ended = true;
        if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) told.failed = true;
        if (told.is_due()) list(told, fd, EpollSet::generation_of(event));
    }
}

int EdgePoller::wait(std::span<core::Ready> out, Duration wait) {
    forget_those_not_due();
    // The kernel reports no new edge for a descriptor that is remembered as ready.
    const int timeout = due_.empty() ? core::timeout_ms(wait) : 0;
    const int count = epoll_.wait(EpollSet::events_max, timeout);
    if (count < 0 && due_.empty()) return count;
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
        // Passed on once: the backend makes the call that finds the error, or reports the end
        // itself.
        which.failed = false;
    }
    // Descriptors that leave something unread are reported again, after the others.
    std::rotate(due_.begin(), due_.begin() + static_cast<std::ptrdiff_t>(told), due_.end());
    return static_cast<int>(told);
}

}  // namespace tiderace::lab::engine
