#include "tiderace/core/backend/readiness.h"

#include <poll.h>

#include <cerrno>
#include <new>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/direct_accept.h"
#include "tiderace/core/backend/direct_send.h"

namespace tiderace::core {
namespace {

// Bounds a turn: with more, posted tasks and timers would wait longer. The next turn reports the
// others, because every poller is level-triggered.
constexpr std::size_t events_per_turn = 512;

}  // namespace

ReadinessBackend::ReadinessBackend(std::string_view name, std::unique_ptr<Poller> poller,
                                   const BackendOptions& options)
    : name_(name),
      poller_(std::move(poller)),
      options_(options),
      ready_(events_per_turn),
      receive_buffer_(std::make_unique_for_overwrite<char[]>(options.receive_bytes)) {}

ReadinessBackend::~ReadinessBackend() = default;

Result<IoHandle> ReadinessBackend::attach(int fd, IoObserver& observer) {
    return entries_.add(fd, observer);
}

void ReadinessBackend::detach(IoHandle& handle) {
    if (entries_.at(handle).known_to_poller) poller_->remove(handle.fd, Afterwards::open);
    forget_watch(handle);
    entries_.remove(handle);
}

void ReadinessBackend::close(IoHandle& handle, SendQueue&& unsent) {
    // Before the close: afterwards another thread may have the number, and its own interest there.
    if (entries_.at(handle).known_to_poller) poller_->remove(handle.fd, Afterwards::closed);
    const int fd = handle.fd;
    forget_watch(handle);
    entries_.remove(handle);
    options_.kernel->close(fd);
    unsent.clear();  // the kernel has copied what it took
}

void ReadinessBackend::set_interest(IoHandle handle, Entry& target, Interest interest) {
    // Most calls set nothing new, and cost no system call.
    if (target.interest == interest && (target.known_to_poller || !interest.any())) return;
    const int outcome =
        poller_->set(handle.fd, handle.generation, interest, target.known_to_poller);
    target.interest = interest;
    if (outcome == 0) {
        target.known_to_poller = true;
    } else {
        // Select's bound, max_user_watches, no memory. Reported from dispatch(), because the caller
        // may be inside a call of its observer.
        refuse(handle, target, outcome);
    }
}

void ReadinessBackend::refuse(IoHandle handle, Entry& target, int error) {
    try {
        refused_.push_back({handle, error});
    } catch (const std::bad_alloc&) {
        // report_unlisted() finds it: something is wanted, and the poller does not know of it.
        target.interest.writable |= target.purpose == Purpose::connect;
        refused_unlisted_ = true;
    }
}

void ReadinessBackend::set_accepting(IoHandle handle, bool on) {
    Entry& listener = entries_.at(handle);
    listener.purpose = Purpose::accept;
    set_interest(handle, listener, {.readable = on});
}

void ReadinessBackend::set_receiving(IoHandle handle, bool on) {
    Entry& stream = entries_.at(handle);
    stream.purpose = Purpose::stream;
    set_interest(handle, stream, {.readable = on, .writable = stream.interest.writable});
}

int ReadinessBackend::watch(IoHandle handle, bool readable, bool writable) {
    Entry& foreign = entries_.at(handle);
    try {
        if (foreign.purpose != Purpose::watch) watched_.push_back(handle);
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }
    foreign.purpose = Purpose::watch;
    const Interest interest{.readable = readable, .writable = writable};
    if (!interest.any()) {
        // Not left there with no interest: its hang-up would be reported all the same, for ever.
        if (foreign.known_to_poller) poller_->remove(handle.fd, Afterwards::open);
        foreign.known_to_poller = false;
        foreign.interest = interest;
        return 0;
    }
    if (foreign.known_to_poller && foreign.interest == interest) return 0;
    const int outcome =
        poller_->set(handle.fd, handle.generation, interest, foreign.known_to_poller);
    if (outcome != 0) return outcome;
    foreign.known_to_poller = true;
    foreign.interest = interest;
    return 0;
}

void ReadinessBackend::start_connect(IoHandle handle, const Address& address) {
    Entry& stream = entries_.at(handle);
    sockaddr_storage storage;
    const socklen_t bytes = address.to_sockaddr(storage);
    const int outcome =
        options_.kernel->connect(handle.fd, reinterpret_cast<const sockaddr*>(&storage), bytes);
    stream.purpose = Purpose::connect;
    // Outcomes are reported from dispatch() only, even those known at once (Unix sockets refuse in
    // the call itself, and leave nothing in SO_ERROR).
    if (outcome == 0 || outcome == -EINPROGRESS || outcome == -EINTR) {
        set_interest(handle, stream, {.writable = true});
    } else {
        refuse(handle, stream, outcome);
    }
}

Sent ReadinessBackend::wait_for_room(IoHandle handle, std::uint64_t sent) {
    Entry& stream = entries_.at(handle);
    stream.purpose = Purpose::stream;
    stream.waits_for_room = true;
    set_interest(handle, stream, {.readable = stream.interest.readable, .writable = true});
    return {.bytes = sent, .pending = true};
}

Sent ReadinessBackend::send(IoHandle handle, SendQueue& queue) {
    const DirectSend sent =
        send_directly(*options_.kernel, handle.fd, queue, options_.send_file_bytes_max);
    if (sent.no_room) return wait_for_room(handle, sent.bytes);
    return {.bytes = sent.bytes, .error = sent.error};
}

void ReadinessBackend::shut_down_sending(IoHandle handle) {
    entries_.at(handle).half_closed = true;
    options_.kernel->shut_down(handle.fd, SHUT_WR);
}

void ReadinessBackend::report_refused() {
    // Exchanged, because an observer may cause the next refusal.
    for (const auto& [handle, error] : std::exchange(refused_, {})) report_refusal(handle, error);
    if (std::exchange(refused_unlisted_, false)) report_unlisted();
}

void ReadinessBackend::report_refusal(IoHandle handle, int error) {
    const Entry* const target = entries_.find(handle);
    if (target == nullptr) return;  // closed by the observer of an earlier one
    switch (target->purpose) {
        case Purpose::accept:
            target->observer->on_accept_failed(error);
            break;
        case Purpose::connect:
            target->observer->on_connected(error);
            break;
        default:
            target->observer->on_receive_failed(error);
            break;
    }
}

// Observers may attach others meanwhile, so by number.
void ReadinessBackend::report_unlisted() {
    for (std::size_t number = 0; number < entries_.size(); ++number) {
        const IoHandle handle = entries_.handle_of(number);
        const Entry* const target = entries_.find(handle);
        if (target == nullptr || target->purpose == Purpose::watch) continue;
        if (target->interest.any() && !target->known_to_poller) report_refusal(handle, -ENOMEM);
    }
}

void ReadinessBackend::wait(Duration wait_max) {
    // A refused interest is reported now, and no descriptor would end the wait for it.
    const bool at_once = !refused_.empty() || refused_unlisted_;
    const int count = poller_->wait(ready_, at_once ? Duration::zero() : wait_max);
    TR_CHECK(count >= 0 || count == -EINTR, "the poller is broken");
    ready_count_ = count < 0 ? 0 : static_cast<std::size_t>(count);
    // One place may have been the waker's. A wait that a signal interrupts (also SIGSTOP) reports
    // nothing of what arrived before it returned.
    full_ = count < 0 || ready_count_ + 1 >= ready_.size();
}

// Oldest first: refusals happened in an earlier turn; listeners that were left out then get their
// share before the events of this turn, whose handlers may take long.
void ReadinessBackend::dispatch() {
    filled_ = false;
    if (!refused_.empty() || refused_unlisted_) report_refused();
    if (!watched_.empty()) dispatch_watched();
    if (!backlogged_.empty()) accept_from_backlogged();
    // By index and by id: a handler may close descriptors that stand further on, and open others
    // under their numbers. The generation makes those events miss.
    for (std::size_t i = 0; i < ready_count_; ++i) dispatch_one(ready_[i]);
    ready_count_ = 0;
}

void ReadinessBackend::forget_watch(IoHandle handle) {
    if (entries_.at(handle).purpose != Purpose::watch) return;
    std::erase_if(watched_, [&](IoHandle each) { return each.fd == handle.fd; });
}

// Foreign descriptors come before streams: what they report (a file that changed) happened before
// the requests that this turn receives. A full turn (the poller's waker may have had one place)
// reports only a part of the ready ones and may lack them: then they are polled.
void ReadinessBackend::dispatch_watched() {
    for (std::size_t i = 0; i < ready_count_; ++i) {
        const Entry* const target = entries_.find({ready_[i].fd, ready_[i].generation});
        if (target == nullptr || target->purpose != Purpose::watch) continue;
        const Ready ready = std::exchange(ready_[i], Ready{});  // fd -1: handled
        if (!full_) report_ready(ready, *target);
    }
    if (full_) poll_watched();
}

void ReadinessBackend::poll_watched() {
    std::vector<pollfd> asked;
    std::vector<IoHandle> watched;
    try {
        watched = watched_;  // observers may change it
        asked.reserve(watched.size());
    } catch (const std::bad_alloc&) {
        return;  // they stay ready: the next turn reports them
    }
    for (const IoHandle handle : watched) {
        const Interest interest = entries_.at(handle).interest;
        asked.push_back({.fd = handle.fd,
                         .events = static_cast<short>((interest.readable ? POLLIN : 0) |
                                                      (interest.writable ? POLLOUT : 0)),
                         .revents = 0});
        // poll() skips a negative descriptor, and places stay as in `watched`.
        if (!interest.any()) asked.back().fd = -1;
    }
    if (::poll(asked.data(), static_cast<nfds_t>(asked.size()), 0) <= 0) return;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (asked[i].revents == 0) continue;
        const Entry* const target = entries_.find(watched[i]);
        if (target == nullptr || target->purpose != Purpose::watch) continue;
        report_ready({.fd = watched[i].fd,
                      .generation = watched[i].generation,
                      .readable = (asked[i].revents & POLLIN) != 0,
                      .writable = (asked[i].revents & POLLOUT) != 0,
                      .failed = (asked[i].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0},
                     *target);
    }
}

// Called from one place, so that it is inlined there: it runs for every event.
void ReadinessBackend::dispatch_one(const Ready& ready) {
    const IoHandle handle{ready.fd, ready.generation};
    const Entry* target = entries_.find(handle);
    if (target == nullptr) return;  // closed by an earlier event of this turn
    switch (target->purpose) {
        case Purpose::accept:
            if (!target->backlogged) accept_some(handle);  // otherwise it had this turn's share
            return;
        case Purpose::connect:
            finish_connect(handle);
            return;
        case Purpose::stream:
            break;
        case Purpose::watch:  // dispatch_watched() was here before
        case Purpose::none:
            return;
    }
    // A failed one is received from, too: recv() returns the pending error, or what came before it.
    // One receive a turn, so that a fast sender does not hold the loop; the rest stays readable.
    if ((ready.readable || ready.failed) && target->interest.readable) receive_once(handle);
    // The observer may have closed it, or another descriptor may have taken its number: look it up
    // again.
    Entry* still = entries_.find(handle);
    if (still == nullptr) return;
    if ((ready.writable || ready.failed) && still->interest.writable) {
        notify_writable(handle, *still);
    } else if (ready.failed && !still->interest.any()) {
        // Paused both ways, and the peer is gone: without this it would be reported for ever.
        poller_->remove(ready.fd, Afterwards::open);
        still->known_to_poller = false;
        // Both directions ended in order are a hang-up, too: what came before is still to be read.
        if (still->half_closed || still->failed) return;
        still->failed = true;
        still->observer->on_receive_failed(-ECONNRESET);
    }
}

// A failed foreign descriptor is ready in every requested direction: the owner's call meets the
// fault.
void ReadinessBackend::report_ready(const Ready& ready, const Entry& foreign) {
    // An earlier event of this turn may have changed the interest.
    const bool readable = (ready.readable || ready.failed) && foreign.interest.readable;
    const bool writable = (ready.writable || ready.failed) && foreign.interest.writable;
    if (readable || writable) foreign.observer->on_ready(readable, writable);
}

// A large answer fills the buffer again at once: then the interest stays as it is, which saves
// two system calls.
void ReadinessBackend::notify_writable(IoHandle handle, Entry& stream) {
    stream.waits_for_room = false;
    stream.observer->on_sent(0);
    Entry* still = entries_.find(handle);
    if (still == nullptr || still->waits_for_room) return;
    set_interest(handle, *still, {.readable = still->interest.readable});
}

void ReadinessBackend::accept_some(IoHandle handle) {
    IoObserver& observer = *entries_.at(handle).observer;
    const auto listens = [&] {
        const Entry* listener = entries_.find(handle);
        return listener != nullptr && listener->interest.readable;
    };
    if (accept_directly(*options_.kernel, handle.fd, observer,
                        accepts_of_turn(ready_count_, options_), listens)) {
        return;  // none is left
    }
    if (!listens()) return;
    try {
        backlogged_.push_back(handle);
    } catch (const std::bad_alloc&) {
        return;  // the poller reports it again, in a turn that is not full
    }
    entries_.at(handle).backlogged = true;
}

// A full turn reports a part of the ready descriptors, and a listening socket rarely: each listener
// still accepts its share of every turn.
void ReadinessBackend::accept_from_backlogged() {
    const auto count = static_cast<std::ptrdiff_t>(backlogged_.size());  // more are added meanwhile
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        // A copy: accept_some() may append and move the vector.
        const IoHandle handle = backlogged_[static_cast<std::size_t>(i)];
        Entry* const listener = entries_.find(handle);
        if (listener == nullptr) continue;
        listener->backlogged = false;
        if (full_ && listener->interest.readable) accept_some(handle);
    }
    backlogged_.erase(backlogged_.begin(), backlogged_.begin() + count);
}

void ReadinessBackend::finish_connect(IoHandle handle) {
    int error = 0;
    socklen_t bytes = sizeof error;
    // Writable means decided; SO_ERROR has the outcome.
    const int outcome =
        options_.kernel->get_option(handle.fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    Entry& stream = entries_.at(handle);
    stream.purpose = Purpose::stream;
    // Its owner asks to receive when it is ready for bytes.
    set_interest(handle, stream, {});
    const int result = outcome < 0 ? outcome : -error;
    if (result != 0 && stream.known_to_poller) {
        // Nothing follows a failure; the hang-up would be reported for as long as the owner keeps
        // the socket, to an observer that is not open.
        poller_->remove(handle.fd, Afterwards::open);
        stream.known_to_poller = false;
    }
    stream.observer->on_connected(result);
}

void ReadinessBackend::receive_once(IoHandle handle) {
    ssize_t got = 0;
    do {
        got = options_.kernel->receive(handle.fd, receive_buffer_.get(), options_.receive_bytes);
    } while (got == -EINTR);
    // Readiness may be out of date: another event of this turn may have read it all.
    if (got == -EAGAIN || got == -EWOULDBLOCK) return;
    Entry& stream = entries_.at(handle);
    if (got > 0) {
        filled_ |= static_cast<std::size_t>(got) == options_.receive_bytes;
        stream.observer->on_received({receive_buffer_.get(), static_cast<std::size_t>(got)});
        return;
    }
    // The end stays readable, and would be reported in every turn. Sending may go on.
    set_interest(handle, stream, {.writable = stream.interest.writable});
    if (got == 0) {
        stream.observer->on_received({});
    } else {
        stream.failed = true;
        stream.observer->on_receive_failed(static_cast<int>(got));
    }
}

}  // namespace tiderace::core
