#include "tiderace/core/backend/readiness.h"

#include <cerrno>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/direct_send.h"

namespace tiderace::core {
namespace {

constexpr std::size_t events_per_turn = 512;

Address peer_address(const sockaddr_storage& peer, socklen_t bytes) {
    return Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&peer), bytes)
        .value_or(Address{});
}

}  // namespace

void IoObserver::on_accepted(int, const Address&) {
    TR_CHECK(false, "not a listener");
}
void IoObserver::on_accept_failed(int) {
    TR_CHECK(false, "not a listener");
}
void IoObserver::on_connected(int) {
    TR_CHECK(false, "never connected");
}
void IoObserver::on_received(ByteView) {
    TR_CHECK(false, "never received");
}
void IoObserver::on_receive_failed(int) {
    TR_CHECK(false, "never received");
}
void IoObserver::on_sent(std::int64_t) {
    TR_CHECK(false, "never sent");
}
void IoObserver::on_ready(bool, bool) {
    TR_CHECK(false, "not watched");
}

ReadinessBackend::ReadinessBackend(std::unique_ptr<Poller> poller, const BackendOptions& options)
    : poller_(std::move(poller)),
      options_(options),
      ready_(events_per_turn),
      receive_buffer_(std::make_unique_for_overwrite<char[]>(options.receive_bytes)) {}

ReadinessBackend::~ReadinessBackend() = default;

ReadinessBackend::Entry* ReadinessBackend::find(int fd, std::uint32_t generation) {
    if (fd < 0 || static_cast<std::size_t>(fd) >= entries_.size()) return nullptr;
    Entry& found = entries_[static_cast<std::size_t>(fd)];
    return found.observer != nullptr && found.generation == generation ? &found : nullptr;
}

ReadinessBackend::Entry& ReadinessBackend::entry(IoHandle handle) {
    Entry* found = find(handle.fd, handle.generation);
    TR_CHECK(found != nullptr, "a handle that was closed");
    return *found;
}

Result<IoHandle> ReadinessBackend::attach(int fd, IoObserver& observer) {
    TR_CHECK(fd >= 0);
    const auto number = static_cast<std::size_t>(fd);
    if (number >= entries_.size()) entries_.resize(number + number / 4 + 64);
    Entry& fresh = entries_[number];
    TR_CHECK(fresh.observer == nullptr, "attached twice");
    const std::uint32_t generation = fresh.generation + 1;
    fresh = Entry{.observer = &observer, .generation = generation};
    return IoHandle{fd, generation};
}

void ReadinessBackend::detach(IoHandle& handle) {
    Entry& gone = entry(handle);
    if (gone.known_to_poller) poller_->remove(handle.fd);
    gone = Entry{.generation = gone.generation};
    handle = IoHandle{};
}

void ReadinessBackend::close(IoHandle& handle, SendQueue&& unsent) {
    Entry& gone = entry(handle);
    if (gone.known_to_poller) poller_->remove_closing(handle.fd);
    gone = Entry{.generation = gone.generation};
    options_.kernel->close(std::exchange(handle, IoHandle{}).fd);
    unsent.clear();  // the kernel has copied what it took
}

void ReadinessBackend::set_interest(IoHandle handle, Entry& target, Interest interest) {
    if (target.interest == interest && (target.known_to_poller || !interest.any())) return;
    const int outcome =
        poller_->set(handle.fd, handle.generation, interest, target.known_to_poller);
    target.interest = interest;
    if (outcome == 0) {
        target.known_to_poller = true;
    } else {
        refused_.push_back({handle, outcome});  // select's bound, max_user_watches, no memory
    }
}

void ReadinessBackend::set_accepting(IoHandle handle, bool on) {
    Entry& listener = entry(handle);
    listener.purpose = Purpose::accept;
    set_interest(handle, listener, {.readable = on});
}

void ReadinessBackend::set_receiving(IoHandle handle, bool on) {
    Entry& stream = entry(handle);
    stream.purpose = Purpose::stream;
    set_interest(handle, stream, {.readable = on, .writable = stream.interest.writable});
}

void ReadinessBackend::watch(IoHandle handle, bool readable, bool writable) {
    Entry& foreign = entry(handle);
    foreign.purpose = Purpose::watch;
    set_interest(handle, foreign, {.readable = readable, .writable = writable});
}

void ReadinessBackend::start_connect(IoHandle handle, const Address& address) {
    Entry& stream = entry(handle);
    sockaddr_storage storage;
    const socklen_t bytes = address.to_sockaddr(storage);
    const int outcome =
        options_.kernel->connect(handle.fd, reinterpret_cast<const sockaddr*>(&storage), bytes);
    stream.purpose = Purpose::connect;
    // Outcomes are told from dispatch() only, also those known at once (Unix sockets refuse in the
    // call itself, and leave nothing in SO_ERROR).
    if (outcome == 0 || outcome == -EINPROGRESS || outcome == -EINTR) {
        set_interest(handle, stream, {.writable = true});
    } else {
        refused_.push_back({handle, outcome});
    }
}

Sent ReadinessBackend::wait_for_room(IoHandle handle, std::uint64_t sent) {
    Entry& stream = entry(handle);
    stream.purpose = Purpose::stream;
    stream.waits_for_room = true;
    set_interest(handle, stream, {.readable = stream.interest.readable, .writable = true});
    return {.bytes = sent, .pending = true};
}

Sent ReadinessBackend::send(IoHandle handle, SendQueue& queue) {
    const DirectSend sent =
        send_directly(*options_.kernel, handle.fd, queue, options_.send_file_bytes_max);
    if (sent.full) poller_->exhausted(handle.fd, {.writable = true});
    if (sent.no_room) return wait_for_room(handle, sent.bytes);
    return {.bytes = sent.bytes, .error = sent.error};
}

void ReadinessBackend::shut_down_sending(IoHandle handle) {
    options_.kernel->shut_down(entry(handle).observer != nullptr ? handle.fd : -1, SHUT_WR);
}

void ReadinessBackend::tell_refused() {
    for (const auto& [handle, error] : std::exchange(refused_, {})) {
        const Entry* target = find(handle.fd, handle.generation);
        if (target == nullptr) continue;
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
}

void ReadinessBackend::wait(Duration wait_max) {
    const int count = poller_->wait(ready_, refused_.empty() ? wait_max : Duration::zero());
    TR_CHECK(count >= 0 || count == -EINTR, "the poller is broken");
    ready_count_ = count < 0 ? 0 : static_cast<std::size_t>(count);
}

void ReadinessBackend::dispatch() {
    if (!refused_.empty()) tell_refused();
    for (std::size_t i = 0; i < ready_count_; ++i) dispatch_one(ready_[i]);
    ready_count_ = 0;
}

void ReadinessBackend::dispatch_one(const Ready& ready) {
    const Entry* target = find(ready.fd, ready.generation);
    if (target == nullptr) return;  // closed by an earlier event of this turn
    switch (target->purpose) {
        case Purpose::accept:
            accept_some(ready);
            return;
        case Purpose::connect:
            finish_connect(ready);
            return;
        case Purpose::watch:
            target->observer->on_ready(ready.readable || ready.failed,
                                       ready.writable || ready.failed);
            if (find(ready.fd, ready.generation) != nullptr) poller_->ask_again(ready.fd);
            return;
        case Purpose::stream:
            break;
        case Purpose::none:
            return;
    }
    if ((ready.readable || ready.failed) && target->interest.readable) receive_once(ready);
    // The observer may have closed it, or another descriptor may have taken its number: ask again.
    Entry* still = find(ready.fd, ready.generation);
    if (still == nullptr) return;
    if ((ready.writable || ready.failed) && still->interest.writable) {
        tell_room({ready.fd, ready.generation}, *still);
    } else if (ready.failed && !still->interest.any()) {
        // Paused both ways, and the peer is gone: without this it would be reported for ever.
        poller_->remove(ready.fd);
        still->known_to_poller = false;
        still->observer->on_receive_failed(-ECONNRESET);
    }
}

// A large answer fills the room again at once: then the poller, which still watches for more, need
// not be told twice.
void ReadinessBackend::tell_room(IoHandle handle, Entry& stream) {
    stream.waits_for_room = false;
    stream.observer->on_sent(0);
    Entry* still = find(handle.fd, handle.generation);
    if (still == nullptr || still->waits_for_room) return;
    set_interest(handle, *still, {.readable = still->interest.readable});
}

void ReadinessBackend::accept_some(const Ready& ready) {
    for (std::size_t i = 0; i < options_.accepts_per_turn_max; ++i) {
        sockaddr_storage peer;
        socklen_t bytes = sizeof peer;
        const int fd =
            options_.kernel->accept(ready.fd, reinterpret_cast<sockaddr*>(&peer), &bytes);
        const Entry* listener = find(ready.fd, ready.generation);
        if (listener == nullptr) {
            if (fd >= 0) options_.kernel->close(fd);
            return;
        }
        if (fd >= 0) {
            listener->observer->on_accepted(fd, peer_address(peer, bytes));
            listener = find(ready.fd, ready.generation);
            if (listener == nullptr || !listener->interest.readable) return;
            continue;
        }
        if (fd == -EAGAIN || fd == -EWOULDBLOCK) {
            poller_->exhausted(ready.fd, {.readable = true});
            return;
        }
        switch (fd) {
            case -EMFILE:
            case -ENFILE:
            case -ENOBUFS:
            case -ENOMEM:
                listener->observer->on_accept_failed(fd);
                return;
            default:
                continue;  // EINTR, ECONNABORTED and the peer's own network errors: the next one
        }
    }
}

void ReadinessBackend::finish_connect(const Ready& ready) {
    int error = 0;
    socklen_t bytes = sizeof error;
    const int outcome = options_.kernel->get_option(ready.fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    const IoHandle handle{ready.fd, ready.generation};
    Entry& stream = entry(handle);
    stream.purpose = Purpose::stream;
    set_interest(handle, stream, {});
    stream.observer->on_connected(outcome < 0 ? outcome : -error);
}

void ReadinessBackend::receive_once(const Ready& ready) {
    ssize_t got = 0;
    do {
        got = options_.kernel->receive(ready.fd, receive_buffer_.get(), options_.receive_bytes);
    } while (got == -EINTR);
    if (got == -EAGAIN || got == -EWOULDBLOCK) {
        poller_->exhausted(ready.fd, {.readable = true});
        return;
    }
    const IoHandle handle{ready.fd, ready.generation};
    Entry& stream = entry(handle);
    if (got > 0) {
        stream.observer->on_received({receive_buffer_.get(), static_cast<std::size_t>(got)});
        return;
    }
    set_interest(handle, stream, {.writable = stream.interest.writable});
    if (got == 0) {
        stream.observer->on_received({});
    } else {
        stream.observer->on_receive_failed(static_cast<int>(got));
    }
}

}  // namespace tiderace::core
