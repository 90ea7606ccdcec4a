#include "tiderace/core/backend/io_uring.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/direct_accept.h"
#include "tiderace/core/backend/direct_send.h"
#include "tiderace/core/backend/io_uring_backend.h"

namespace tiderace::core {

Result<IoHandle> IoUringBackend::attach(int fd, IoObserver& observer) {
    // A tag has 24 bits for the number.
    if (fd > descriptor_max) return fail({EMFILE, "watch", "a socket"});
    return entries_.add(fd, observer);
}

void IoUringBackend::forget(IoHandle& handle) {
    Entry& gone = entries_.at(handle);
    if (gone.watched != 0) --watches_;
    if (gone.runs(Operation::send)) forget_send(handle);
    // Operations that the kernel has not received yet are withdrawn: the number may be another's by
    // then.
    const bool unheard = gone.asked_in == (ring_->batch() & 63U);
    for (const Operation operation : users_operations) {
        if (!gone.runs(operation) || operation == Operation::send) continue;
        if (unheard && ring_->withdraw(tag_of(operation, handle))) continue;
        cancel(handle, gone, operation);
    }
    held_.erase(handle.fd);
    // Connections accepted for a listener that goes away: nothing else would close them.
    std::erase_if(late_, [&](const auto& each) {
        if (each.first.fd != handle.fd) return false;
        options_.kernel->close(each.second);
        return true;
    });
    entries_.remove(handle);
}

void IoUringBackend::close(IoHandle& handle, SendQueue&& unsent) {
    const int fd = handle.fd;
    forget(handle);
    // Operations hold the socket: the kernel releases it once they are cancelled, in the next wait.
    options_.kernel->close(fd);
    unsent.clear();  // the kernel reads what is in sends_
}

// Everything given to send() leaves, as with direct sends: also after the loop's last turn, when
// nothing is submitted any more.
void IoUringBackend::forget_send(IoHandle handle) {
    const auto [slot, bytes] = sends_.find(handle);
    sends_.forget(slot);
    if (!ring_->withdraw(send_tag(slot))) return;
    const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    options_.kernel->send(handle.fd, &piece, 1, false);
    sends_.finish(slot, bytes.size());
}

// --- asking ----------------------------------------------------------------------------------

void IoUringBackend::want(IoHandle handle, Operation operation, bool on) {
    Entry& target = entries_.at(handle);
    if (on) {
        target.wanted |= bit(operation);
        if (!target.runs(operation)) start(handle, target, operation);
    } else {
        target.wanted &= static_cast<std::uint8_t>(~bit(operation));
        if (target.runs(operation)) cancel(handle, target, operation);
    }
}

void IoUringBackend::start(IoHandle handle, Entry& target, Operation operation) {
    // The single issuer is gone, so the kernel would refuse (EEXIST). Another thread that runs the
    // loop later finds it in ended_.
    if (!ring_->is_usable()) return note_ended(handle);  // the loop has ended
    target.under_way |= bit(operation);
    target.cancelled &= static_cast<std::uint8_t>(~bit(operation));
    io_uring_sqe& ask = ring_->take(0);
    target.asked_in = ring_->batch() & 63U;
    prepare(ask, operation, handle.fd, target.watched);
    ask.user_data = tag_of(operation, handle);
}

void IoUringBackend::cancel(IoHandle handle, Entry& target, Operation operation) {
    if ((target.cancelled & bit(operation)) != 0 || !ring_->is_usable()) return;
    target.cancelled |= bit(operation);
    io_uring_sqe& ask = ring_->take(0);
    // By its tag: by the descriptor it could end another operation of the same socket.
    io_uring_prep_cancel64(&ask, tag_of(operation, handle), 0);
    ask.user_data = tag_of(Operation::none, handle);
    // Not with the next wait: until the kernel sees it, accepted connections reach no listener.
    if (operation == Operation::accept) ring_->submit();
}

void IoUringBackend::watch_waker() {
    io_uring_sqe& ask = ring_->take(0);
    io_uring_prep_poll_add(&ask, waker_.descriptor(), POLLIN);
    ask.user_data = wake_tag;
    waker_watched_ = true;
}

void IoUringBackend::set_receiving(IoHandle handle, bool on) {
    want(handle, Operation::receive, on);
    // Left alone, a peer that vanishes is noticed all the same.
    want(handle, Operation::hang_up, !on);
    if (on && !held_.empty() && held_.contains(handle.fd)) note_redelivery(handle);
}

int IoUringBackend::watch(IoHandle handle, bool readable, bool writable) {
    Entry& foreign = entries_.at(handle);
    const auto watched = static_cast<std::uint8_t>((readable ? 1U : 0U) | (writable ? 2U : 0U));
    if (foreign.watched == watched) return 0;
    if (foreign.watched == 0) ++watches_;
    if (watched == 0) --watches_;
    foreign.watched = watched;
    // The poll in flight watches other directions; it is submitted again when it has ended.
    if (foreign.runs(Operation::watch)) {
        cancel(handle, foreign, Operation::watch);
    }
    if (watched == 0) {
        foreign.wanted &= static_cast<std::uint8_t>(~bit(Operation::watch));
    } else {
        want(handle, Operation::watch, true);
    }
    return 0;
}

void IoUringBackend::start_connect(IoHandle handle, const Address& address) {
    sockaddr_storage storage;
    const socklen_t bytes = address.to_sockaddr(storage);
    const int outcome =
        options_.kernel->connect(handle.fd, reinterpret_cast<const sockaddr*>(&storage), bytes);
    // Interrupted, connecting goes on (POSIX). Also where it succeeded at once (Unix sockets) the
    // outcome comes from a poll, because observers are called from dispatch() only.
    if (outcome == 0 || outcome == -EINPROGRESS || outcome == -EINTR) {
        start(handle, entries_.at(handle), Operation::connect);
    } else {
        note_failed_connect(handle, outcome);
    }
}

void IoUringBackend::note_failed_connect(IoHandle handle, int error) {
    try {
        failed_connects_.emplace_back(handle, error);
    } catch (const std::bad_alloc&) {
        entries_.at(handle).connect_failed = 1;
        failed_unlisted_ = true;
    }
}

Sent IoUringBackend::send(IoHandle handle, SendQueue& queue) {
    Entry& stream = entries_.at(handle);
    if (stream.runs(Operation::send)) return {.pending = true};  // and its bytes go first
    // In a full ring take() would submit what is there, and the answers would no longer go in one
    // call.
    if (sends_together_ && ring_->has_room() && sends_.fits(queue)) {
        return send_by_ring(handle, stream, queue);
    }
    const DirectSend sent =
        send_directly(*options_.kernel, handle.fd, queue, options_.send_file_bytes_max);
    if (!sent.no_room) return {.bytes = sent.bytes, .error = sent.error};
    if (!stream.runs(Operation::room)) start(handle, stream, Operation::room);
    return {.bytes = sent.bytes, .pending = true};
}

Sent IoUringBackend::send_by_ring(IoHandle handle, Entry& stream, SendQueue& queue) {
    const auto [slot, bytes] = sends_.take(handle, queue);
    io_uring_sqe& ask = ring_->take(0);
    io_uring_prep_send(&ask, handle.fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    ask.user_data = send_tag(slot);
    stream.under_way |= bit(Operation::send);
    stream.asked_in = ring_->batch() & 63U;
    return {.pending = true};
}

// --- a turn ----------------------------------------------------------------------------------

void IoUringBackend::wait(Duration wait_max) {
    if (!ring_->is_usable()) return;  // the loop has ended, and is at rest
    start_again();
    if (!waker_watched_) watch_waker();
    const bool at_once = !done_.empty() || !to_redeliver_.empty() || redeliver_unlisted_ ||
                         !failed_connects_.empty() || failed_unlisted_ || has_late_for_someone();
    ring_->enter(at_once ? Duration::zero() : wait_max);
    ring_->collect(done_);
    // ENOBUFS: a receive found no free buffer and ended, with bytes left in its socket.
    full_ = done_.size() >= completions_of_full_turn || ring_->has_more() ||
            std::ranges::any_of(done_, [](const auto& each) { return each.result == -ENOBUFS; });
    const auto received = std::ranges::count_if(done_, [](const Uring::Completion& each) {
        return Tag(each.tag).operation == Operation::receive;
    });
    sends_together_ = static_cast<std::size_t>(received) >= options_.sends_together_min;
    // At once, so that a second wait() without a dispatch() between can also be woken.
    const auto is_wake = [](const Uring::Completion& each) {
        return Tag(each.tag).operation == Operation::wake;
    };
    if (std::erase_if(done_, is_wake) == 0) return;
    waker_.clear();
    waker_watched_ = false;
}

// Operations that ended by themselves, for want of buffers or after a cancellation that was thought
// better of, and are wanted.
void IoUringBackend::start_again() {
    // By number, and its room is kept: nothing is added meanwhile, and every turn needs it.
    for (std::size_t i = 0; i < ended_.size(); ++i) start_missing(ended_[i]);
    ended_.clear();
    if (!std::exchange(ended_unlisted_, false)) return;
    for (std::size_t i = 0; i < entries_.size(); ++i) start_missing(entries_.handle_of(i));
}

void IoUringBackend::start_missing(IoHandle handle) {
    Entry* const target = entries_.find(handle);
    if (target == nullptr) return;
    const auto missing = static_cast<std::uint8_t>(target->wanted & ~target->under_way);
    for (const Operation operation : users_operations) {
        if ((missing & bit(operation)) != 0) start(handle, *target, operation);
    }
}

void IoUringBackend::note_ended(IoHandle handle) {
    try {
        ended_.push_back(handle);
    } catch (const std::bad_alloc&) {
        ended_unlisted_ = true;  // all are searched for it
    }
}

void IoUringBackend::note_redelivery(IoHandle handle) {
    try {
        to_redeliver_.push_back(handle);
    } catch (const std::bad_alloc&) {
        redeliver_unlisted_ = true;
    }
}

void IoUringBackend::dispatch() {
    if (!failed_connects_.empty() || failed_unlisted_) report_failed();
    if (!to_redeliver_.empty() || redeliver_unlisted_) redeliver();
    accepts_ = 0;
    if (watches_ > 0) complete_watches();
    if (!late_.empty()) hand_out_late();
    // Without memory the rest waits for the next turn, in its order.
    for (std::size_t i = 0; i < done_.size(); ++i) {
        if (!complete_at(i)) break;
    }
    std::erase_if(done_, [](const Uring::Completion& each) { return each.tag == no_tag; });
}

// Foreign descriptors come before streams: what they report (a file that changed) happened before
// the requests that this turn receives.
void IoUringBackend::complete_watches() {
    for (std::size_t i = 0; i < done_.size(); ++i) {
        if (Tag(done_[i].tag).operation == Operation::watch && !complete_at(i)) return;
    }
}

// A copy, because hand_out_accepted() may collect more meanwhile and must skip this one. False:
// there is no memory to remember that its operation ended, so it is not completed yet.
bool IoUringBackend::complete_at(std::size_t index) {
    const Uring::Completion completion = done_[index];
    if (ended_.size() == ended_.capacity()) {
        try {
            ended_.reserve(std::max<std::size_t>(64, 2 * ended_.size()));
        } catch (const std::bad_alloc&) {
            return false;
        }
    }
    done_[index].tag = no_tag;
    complete(completion);
    return true;
}

void IoUringBackend::report_failed() {
    for (const auto& [handle, error] : std::exchange(failed_connects_, {})) {
        if (Entry* const target = entries_.find(handle)) target->observer->on_connected(error);
    }
    if (!std::exchange(failed_unlisted_, false)) return;
    // By number, because observers may attach others meanwhile.
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        Entry* const target = entries_.find(entries_.handle_of(i));
        if (target == nullptr || target->connect_failed == 0) continue;
        target->connect_failed = 0;
        target->observer->on_connected(-ENOMEM);
    }
}

void IoUringBackend::redeliver() {
    for (const IoHandle handle : std::exchange(to_redeliver_, {})) redeliver_to(handle);
    if (!std::exchange(redeliver_unlisted_, false)) return;
    for (std::size_t i = 0; i < entries_.size(); ++i) redeliver_to(entries_.handle_of(i));
}

void IoUringBackend::redeliver_to(IoHandle handle) {
    const auto found = held_.find(handle.fd);
    if (entries_.find(handle) == nullptr || found == held_.end()) return;
    HeldInput held = std::move(found->second);
    held_.erase(found);
    redeliver(handle, std::move(held));
}

// In pieces as a receive gives them, as long as they are wanted. The observer may close meanwhile.
void IoUringBackend::redeliver(IoHandle handle, HeldInput held) {
    const auto wanted = [&] {
        const Entry* const stream = entries_.find(handle);
        return stream != nullptr && stream->wants(Operation::receive);
    };
    ByteView rest = held.bytes;
    while (!rest.empty() && wanted()) {
        const ByteView piece = rest.substr(0, options_.receive_bytes);
        rest.remove_prefix(piece.size());
        entries_.find(handle)->observer->on_received(piece);
    }
    const bool over = held.ended || held.error != 0;
    if (entries_.find(handle) == nullptr || (rest.empty() && !over)) return;
    if (rest.empty() && wanted()) return deliver(handle, *entries_.find(handle), held.error, {});
    held.bytes.erase(0, held.bytes.size() - rest.size());
    put_back(handle, std::move(held));
}

void IoUringBackend::put_back(IoHandle handle, HeldInput rest) {
    try {
        held_[handle.fd] = std::move(rest);
    } catch (const std::bad_alloc&) {
        // Bytes of the stream are lost, so it ends.
        deliver(handle, entries_.at(handle), -ENOMEM, {});
    }
}

void IoUringBackend::complete(const Uring::Completion& completion) {
    const Tag tag(completion.tag);
    if (tag.operation == Operation::none) return;
    if (tag.operation == Operation::wake) {
        waker_watched_ = false;  // drained when it is watched again
        return;
    }
    if (tag.operation == Operation::send) {
        return finish_send(static_cast<std::uint32_t>(completion.tag), completion.result);
    }
    Entry* const target = entries_.find(tag.handle);
    // A multishot operation may end at any completion: for lack of buffers, after an error,
    // cancelled.
    const bool last = (completion.flags & IORING_CQE_F_MORE) == 0;
    if (target != nullptr && last) {
        target->under_way &= static_cast<std::uint8_t>(~bit(tag.operation));
        ended_.push_back(tag.handle);
    }
    if (tag.operation == Operation::accept) {
        return finish_accept(tag.handle, target, completion.result);
    }
    if (tag.operation == Operation::receive) {
        return finish_receive(tag.handle, target, completion);
    }
    if (target == nullptr || completion.result == -ECANCELED) return;
    switch (tag.operation) {
        case Operation::room:
            target->wanted &= static_cast<std::uint8_t>(~bit(Operation::room));
            target->observer->on_sent(0);
            return;
        case Operation::connect:
            target->wanted &= static_cast<std::uint8_t>(~bit(Operation::connect));
            return finish_connect(tag.handle, *target);
        case Operation::watch:
            return report_ready(*target, completion.result);
        case Operation::hang_up:
            if (!target->wants(Operation::hang_up)) return;
            // The kernel adds POLLRDHUP to the mask of every poll. So this also completes when the
            // peer ended its own direction, and would again at once, for ever: it is submitted once
            // only.
            target->wanted &= static_cast<std::uint8_t>(~bit(Operation::hang_up));
            // With our direction ended, the peer's orderly end is also a POLLHUP.
            if (target->half_closed != 0) return;
            if (completion.result < 0 || (completion.result & (POLLERR | POLLHUP)) != 0)
                target->observer->on_receive_failed(-ECONNRESET);
            return;
        default:
            return;
    }
}

void IoUringBackend::finish_accept(IoHandle handle, Entry* listener, std::int32_t result) {
    if (result >= 0) {
        if (listener == nullptr) {
            options_.kernel->close(result);
        } else if (!listener->wants(Operation::accept) || !late_.empty() ||
                   accepts_ == options_.accepts_per_turn_max) {
            keep_late(handle, result);
        } else {
            hand_out(*listener, result);
        }
        return;
    }
    if (listener == nullptr || !listener->wants(Operation::accept)) return;
    TR_CHECK(result != -EBADF && result != -EINVAL && result != -ENOTSOCK && result != -EOPNOTSUPP,
             "not a listening socket");
    // The rest (EINTR, ECONNABORTED, errors of the peer's network) is retried.
    if (lacks_resources(result)) listener->observer->on_accept_failed(result);
}

// Without memory its client is closed: its descriptor would be lost.
void IoUringBackend::keep_late(IoHandle handle, int fd) {
    try {
        late_.emplace_back(handle, fd);
    } catch (const std::bad_alloc&) {
        options_.kernel->close(fd);
    }
}

void IoUringBackend::hand_out(const Entry& listener, int fd) {
    ++accepts_;
    // A multishot accept has one place for all addresses, which the next connection would
    // overwrite.
    sockaddr_storage peer;
    socklen_t bytes = sizeof peer;
    auto* const raw = reinterpret_cast<sockaddr*>(&peer);
    // The peer has already left; the first receive will report it.
    if (::getpeername(fd, raw, &bytes) != 0) bytes = 0;
    listener.observer->on_accepted(fd, peer_address(raw, bytes));
}

bool IoUringBackend::has_late_for_someone() {
    return std::ranges::any_of(late_, [&](const auto& each) {
        const Entry* const listener = entries_.find(each.first);
        return listener != nullptr && listener->wants(Operation::accept);
    });
}

void IoUringBackend::hand_out_accepted(IoHandle handle) {
    if (ring_->is_usable()) {
        ring_->enter(Duration::zero());
        ring_->collect(done_);
    }
    const std::uint64_t accepted = tag_of(Operation::accept, handle);
    for (std::size_t i = 0; i < done_.size(); ++i) {
        if (done_[i].tag == accepted) complete_at(i);
    }
    for (const auto& [listener, fd] : std::exchange(late_, {})) {
        Entry* const entry = listener.fd == handle.fd ? entries_.find(listener) : nullptr;
        entry != nullptr ? hand_out(*entry, fd) : keep_late(listener, fd);
    }
}

void IoUringBackend::hand_out_late() {
    for (const auto& [handle, fd] : std::exchange(late_, {})) {
        Entry* const listener = entries_.find(handle);
        if (listener == nullptr) {
            options_.kernel->close(fd);
        } else if (listener->wants(Operation::accept) && accepts_ < options_.accepts_per_turn_max) {
            hand_out(*listener, fd);
        } else {
            keep_late(handle, fd);
        }
    }
}

void IoUringBackend::finish_receive(IoHandle handle, Entry* stream,
                                    const Uring::Completion& completion) {
    const bool has_buffer = (completion.flags & IORING_CQE_F_BUFFER) != 0;
    const std::int32_t result = completion.result;
    const bool tells = result >= 0 || (result != -ECANCELED && result != -ENOBUFS &&
                                       result != -EINTR && result != -EAGAIN);
    if (stream != nullptr && tells) {
        const ByteView bytes = result > 0 ? ring_->received(completion) : ByteView{};
        // It must wait as well behind bytes that are held already.
        if (!stream->wants(Operation::receive) || (!held_.empty() && held_.contains(handle.fd))) {
            hold(handle, result, bytes);
        } else {
            deliver(handle, *stream, result, bytes);
        }
    }
    // Also where the stream is gone: the ring would run out of buffers.
    if (has_buffer) ring_->give_back(completion);
}

void IoUringBackend::deliver(IoHandle handle, Entry& stream, std::int32_t result, ByteView bytes) {
    if (result > 0) {
        stream.observer->on_received(bytes);
        return;
    }
    stream.wanted &= static_cast<std::uint8_t>(~bit(Operation::receive));
    if (stream.runs(Operation::receive)) cancel(handle, stream, Operation::receive);
    if (result == 0) {
        stream.observer->on_received({});
    } else {
        stream.observer->on_receive_failed(result);
    }
}

void IoUringBackend::hold(IoHandle handle, std::int32_t result, ByteView bytes) {
    Entry& stream = entries_.at(handle);
    try {
        HeldInput& held = held_[handle.fd];
        held.bytes += bytes;
        held.ended |= result == 0;
        held.error = std::min(held.error, result);
    } catch (const std::bad_alloc&) {
        // Bytes of the stream are lost, so it ends.
        held_.erase(handle.fd);
        return deliver(handle, stream, -ENOMEM, {});
    }
    if (stream.wants(Operation::receive)) note_redelivery(handle);
}

void IoUringBackend::finish_connect(IoHandle handle, const Entry& stream) {
    int error = 0;
    socklen_t bytes = sizeof error;
    const int outcome =
        options_.kernel->get_option(handle.fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    stream.observer->on_connected(outcome < 0 ? outcome : -error);
}

void IoUringBackend::report_ready(const Entry& foreign, std::int32_t result) {
    const auto has = [&](int events) { return result < 0 || (result & events) != 0; };
    const bool readable = (foreign.watched & 1U) != 0 && has(POLLIN | POLLERR | POLLHUP);
    const bool writable = (foreign.watched & 2U) != 0 && has(POLLOUT | POLLERR | POLLHUP);
    if (readable || writable) foreign.observer->on_ready(readable, writable);
}

void IoUringBackend::finish_send(std::uint32_t slot, std::int32_t result) {
    const IoHandle handle = sends_.finish(slot, static_cast<std::uint64_t>(std::max(result, 0)));
    Entry* const stream = entries_.find(handle);
    if (stream == nullptr) return;
    stream->under_way &= static_cast<std::uint8_t>(~bit(Operation::send));
    if (!is_no_room(result)) {
        stream->observer->on_sent(result == -EINTR ? 0 : result);
    } else if (!stream->runs(Operation::room)) {
        start(handle, *stream, Operation::room);
    }
}

// The kernel keeps the port some milliseconds after a ring's end. Only this thread can submit.
void IoUringBackend::rest() {
    if (!ring_->is_usable()) return;
    ring_->cancel_all(done_);
    for (Uring::Completion& each : done_) put_to_rest(each);
}

// Marks an ended operation as not in flight; a later dispatch(), if any, reports its result.
void IoUringBackend::put_to_rest(Uring::Completion& completion) {
    const Tag tag(completion.tag);
    if ((completion.flags & IORING_CQE_F_MORE) != 0) return;
    if (tag.operation == Operation::wake) {
        waker_watched_ = false;  // and not cleared: the wake-up counts for the next turn
        completion.tag = no_tag;
        return;
    }
    if (tag.operation == Operation::none || tag.operation == Operation::send) return;
    if (Entry* const target = entries_.find(tag.handle)) {
        target->under_way &= static_cast<std::uint8_t>(~bit(tag.operation));
        // These two are submitted once, so they are wanted again only from here on.
        const bool once = tag.operation == Operation::room || tag.operation == Operation::connect;
        if (once && completion.result == -ECANCELED) target->wanted |= bit(tag.operation);
        note_ended(tag.handle);
    }
    completion.flags |= IORING_CQE_F_MORE;  // its end is known now
}

IoUringBackend::~IoUringBackend() {
    rest();
    for (const auto& [listener, fd] : late_) options_.kernel->close(fd);
    for (const Uring::Completion& each : done_) {
        const bool accepted = Tag(each.tag).operation == Operation::accept && each.result >= 0;
        if (accepted) options_.kernel->close(each.result);
    }
}

bool has_io_uring() {
    static const bool has = Uring::open().has_value();
    return has;
}

Result<std::unique_ptr<Backend>> make_io_uring_backend(const BackendOptions& options) {
    auto ring = Uring::open();
    if (!ring) return fail(ring.error());
    return std::make_unique<IoUringBackend>(std::move(*ring), options);
}

}  // namespace tiderace::core
