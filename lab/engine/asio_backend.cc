// Completions from readiness: we request a read of Asio, and a handler reports what it brought.
//
//   read()  async_read_some into the connection's own buffer          [under way]
//   Asio    epoll -> recv -> handler: got bytes; note() -> turn_soon(): a handler behind all others
//   turn()  dispatch() -> observers -> HTTP -> send(): async_send     [under way]
//   Asio    send, at once if there is room -> handler: sent bytes; note() -> …
//
// The buffer has to be there before the bytes come, since a read is under way while a connection is
// idle: that is the memory which readiness does not need (and io_uring's shared ring avoids).
//
// Nothing that was begun can be taken back at once: a handler comes for each operation, with an
// error after a close. So an Entry is shared by its handlers and lives until the last of them has
// run; one without an observer was closed, and its handlers do nothing.
#include "lab/engine/asio_backend.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <cerrno>
#include <new>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/descriptor_table.h"
#include "tiderace/core/backend/direct_accept.h"

namespace tiderace::lab::engine {

using core::IoHandle;
using core::IoObserver;
using core::SendQueue;
using core::Sent;

namespace {

// A buffer sequence as Asio takes them, without a heap.
struct Pieces {
    static constexpr std::size_t count_max = 16;

    const asio::const_buffer* begin() const { return each.data(); }
    const asio::const_buffer* end() const { return each.data() + count; }

    std::array<asio::const_buffer, count_max> each;
    std::size_t count = 0;
};

}  // namespace

// Handlers hold it, so it outlives its place in the table.
template <typename Executor>
struct AsioBackend<Executor>::Entry : std::enable_shared_from_this<Entry> {
    // Settled by the first call that needs one: a connect and all of a connection's bytes go
    // through `socket`, the rest through `plain`. Two of Asio's objects for one descriptor would
    // register it twice.
    enum class Purpose : std::uint8_t { none, accept, watch, stream };
    using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, Executor>;
    using Descriptor = asio::posix::basic_stream_descriptor<Executor>;

    IoObserver* observer = nullptr;  // null: closed; later handlers do nothing
    IoHandle handle;
    Purpose purpose = Purpose::none;
    bool noted = false;

    // accept, watch
    std::optional<Descriptor> plain;
    bool plain_is_copy = false;
    bool wants_readable = false, wants_writable = false;
    bool asked_readable = false, asked_writable = false;
    bool readable = false, writable = false;

    // stream
    std::optional<Socket> socket;
    std::unique_ptr<char[]> buffer;
    std::size_t got = 0;  // in the buffer, not reported
    bool wants_bytes = false;
    bool reading = false;
    bool ended = false;     // and not reported
    int receive_error = 0;  // and not reported
    std::optional<int> connected;
    SendQueue* queue = nullptr;        // of the send that is pending
    std::optional<std::int64_t> sent;  // how it ended, not reported
};

template <typename Executor>
AsioBackend<Executor>::AsioBackend(std::shared_ptr<asio::io_context> context,
                                   const Executor& executor, std::string_view name,
                                   const core::BackendOptions& options)
    : context_(std::move(context)),
      executor_(executor),
      name_(name),
      options_(options),
      // A loop that waits for nothing is no reason for run() to return.
      work_(context_->get_executor()),
      timer_(executor) {}

// The generation differs once the descriptor's number was used again.
template <typename Executor>
auto AsioBackend<Executor>::find(IoHandle handle) const -> Entry* {
    const auto number = static_cast<std::size_t>(handle.fd);
    if (handle.fd < 0 || number >= slots_.size()) return nullptr;
    const Slot& slot = slots_[number];
    return slot.generation == handle.generation ? slot.entry.get() : nullptr;
}

template <typename Executor>
auto AsioBackend<Executor>::entry(IoHandle handle) const -> Entry& {
    Entry* const found = find(handle);
    TR_CHECK(found != nullptr, "a handle that was closed");
    return *found;
}

template <typename Executor>
Result<IoHandle> AsioBackend<Executor>::attach(int fd, IoObserver& observer) {
    TR_CHECK(fd >= 0);
    const auto number = static_cast<std::size_t>(fd);
    std::shared_ptr<Entry> fresh;
    // Fails as core's backends do: behind an exception nothing would close the descriptor.
    try {
        core::grow_for(slots_, number);
        // A fresh one, not the old one anew: a handler of the old may still be queued, and it must
        // find that its own entry has no observer.
        fresh = std::make_shared<Entry>();
    } catch (const std::bad_alloc&) {
        return fail({ENOMEM, "watch", "a socket"});
    }
    Slot& slot = slots_[number];
    TR_CHECK(slot.entry == nullptr, "attached twice");
    slot.entry = std::move(fresh);
    slot.entry->observer = &observer;
    slot.entry->handle = {fd, ++slot.generation};
    return slot.entry->handle;
}

template <typename Executor>
auto AsioBackend<Executor>::forget(IoHandle& handle) -> std::shared_ptr<Entry> {
    std::shared_ptr<Entry> gone = entry(handle).shared_from_this();
    slots_[static_cast<std::size_t>(handle.fd)].entry.reset();
    gone->observer = nullptr;
    handle = IoHandle{};
    return gone;
}

template <typename Executor>
void AsioBackend<Executor>::detach(IoHandle& handle) {
    const std::shared_ptr<Entry> gone = forget(handle);
    asio::error_code ignored;
    if (gone->plain && gone->plain_is_copy) {
        gone->plain->close(ignored);
    } else if (gone->plain) {
        gone->plain->release();
    }
    if (gone->socket) gone->socket->release(ignored);
}

// Asio forgets the descriptor under a lock of its own, so no other thread that runs the io_context
// is sending the queue any more.
template <typename Executor>
void AsioBackend<Executor>::close(IoHandle& handle, SendQueue&& unsent) {
    const int fd = handle.fd;
    const std::shared_ptr<Entry> gone = forget(handle);
    asio::error_code ignored;
    if (gone->socket) {
        gone->socket->close(ignored);
    } else if (gone->plain && !gone->plain_is_copy) {
        gone->plain->close(ignored);
    } else {
        if (gone->plain) gone->plain->close(ignored);
        // Asio closed only the copy, or there was nothing of Asio's: the descriptor itself is left.
        options_.kernel->close(fd);
    }
    unsent.clear();
}

// Asio's handlers run inside its own loop, and observers are called by dispatch() alone. So a
// handler keeps its outcome in the entry, and tell() reports it.
template <typename Executor>
void AsioBackend<Executor>::note(Entry& entry) {
    turn_soon();
    if (std::exchange(entry.noted, true)) return;
    noted_.push_back(entry.handle);
}

// --- listeners and foreign descriptors ---------------------------------------------------------

template <typename Executor>
void AsioBackend<Executor>::set_accepting(IoHandle handle, bool on) {
    Entry& listener = entry(handle);
    listener.purpose = Entry::Purpose::accept;
    listener.wants_readable = on;
    ask_plain(listener);
}

template <typename Executor>
int AsioBackend<Executor>::watch(IoHandle handle, bool readable, bool writable) {
    Entry& foreign = entry(handle);
    foreign.purpose = Entry::Purpose::watch;
    foreign.wants_readable = readable;
    foreign.wants_writable = writable;
    if (!foreign.plain) {
        // A copy, because loops may watch the same descriptor, and an io_context that they share
        // takes each descriptor once.
        const int copy = ::fcntl(handle.fd, F_DUPFD_CLOEXEC, 0);
        if (copy < 0) return -errno;
        foreign.plain.emplace(executor_, copy);
        foreign.plain_is_copy = true;
    }
    ask_plain(foreign);
    return 0;
}

// A wait that is not wanted any more is left to come, and then ignored.
template <typename Executor>
void AsioBackend<Executor>::ask_plain(Entry& entry) {
    // Listeners also wait for readiness, and accept by core's rule: async_accept takes one
    // connection for each handler, whatever a turn has room for (direct_accept.h).
    if (!entry.plain) entry.plain.emplace(executor_, entry.handle.fd);
    using Wait = asio::posix::descriptor_base;
    if (entry.wants_readable && !std::exchange(entry.asked_readable, true)) {
        entry.plain->async_wait(Wait::wait_read,
                                [this, self = entry.shared_from_this()](const asio::error_code&) {
                                    self->asked_readable = false;
                                    if (self->observer == nullptr) return;
                                    self->readable = true;
                                    note(*self);
                                });
    }
    if (entry.wants_writable && !std::exchange(entry.asked_writable, true)) {
        entry.plain->async_wait(Wait::wait_write,
                                [this, self = entry.shared_from_this()](const asio::error_code&) {
                                    self->asked_writable = false;
                                    if (self->observer == nullptr) return;
                                    self->writable = true;
                                    note(*self);
                                });
    }
}

template <typename Executor>
void AsioBackend<Executor>::report_plain(IoHandle handle, Entry& entry) {
    const bool readable = std::exchange(entry.readable, false) && entry.wants_readable;
    const bool writable = std::exchange(entry.writable, false) && entry.wants_writable;
    if (entry.purpose == Entry::Purpose::accept) {
        if (readable) accept_some(handle);
    } else if (readable || writable) {
        entry.observer->on_ready(readable, writable);
    }
    if (Entry* const still = find(handle)) ask_plain(*still);
}

template <typename Executor>
void AsioBackend<Executor>::accept_some(IoHandle handle) {
    core::accept_directly(*options_.kernel, handle.fd, *entry(handle).observer,
                          core::accepts_of_turn(telling_.size(), options_), [&] {
                              const Entry* const still = find(handle);
                              return still != nullptr && still->wants_readable;
                          });
}

// --- streams -----------------------------------------------------------------------------------

template <typename Executor>
auto AsioBackend<Executor>::stream(IoHandle handle) -> Entry& {
    Entry& target = entry(handle);
    if (target.socket) return target;
    sockaddr_storage local;
    socklen_t bytes = sizeof local;
    local.ss_family = AF_UNSPEC;
    // Asio needs the family of an open socket: TCP over IPv4 or IPv6, or Unix.
    options_.kernel->local_address(handle.fd, reinterpret_cast<sockaddr*>(&local), &bytes);
    target.purpose = Entry::Purpose::stream;
    target.socket.emplace(executor_, asio::generic::stream_protocol(local.ss_family, 0), handle.fd);
    return target;
}

template <typename Executor>
void AsioBackend<Executor>::start_connect(IoHandle handle, const core::Address& address) {
    Entry& target = stream(handle);
    sockaddr_storage storage;
    const socklen_t bytes = address.to_sockaddr(storage);
    target.socket->async_connect(
        asio::generic::stream_protocol::endpoint(&storage, bytes),
        [this, self = target.shared_from_this()](const asio::error_code& error) {
            if (self->observer == nullptr) return;
            self->connected = -error.value();
            note(*self);
        });
}

template <typename Executor>
void AsioBackend<Executor>::set_receiving(IoHandle handle, bool on) {
    Entry& target = stream(handle);
    target.wants_bytes = on;
    if (!on) return;  // a read that is under way is kept in the buffer
    if (target.got > 0 || target.ended || target.receive_error != 0) return note(target);
    if (!target.reading) read(target);
}

// The buffer is the entry's: a read that is under way when the connection closes still has it.
template <typename Executor>
void AsioBackend<Executor>::read(Entry& entry) {
    const std::size_t bytes = std::min(read_bytes, options_.receive_bytes);
    if (entry.buffer == nullptr) entry.buffer = std::make_unique_for_overwrite<char[]>(bytes);
    entry.reading = true;
    entry.socket->async_read_some(
        asio::buffer(entry.buffer.get(), bytes),
        [this, self = entry.shared_from_this()](const asio::error_code& error, std::size_t got) {
            self->reading = false;
            if (self->observer == nullptr) return;
            self->got = got;
            self->ended = error == asio::error::eof;
            self->receive_error = error && !self->ended ? -error.value() : 0;
            note(*self);
        });
}

// The observer may pause and close at every call.
template <typename Executor>
void AsioBackend<Executor>::report_received(IoHandle handle) {
    Entry& target = entry(handle);
    // A lost peer is reported even while reading is paused.
    if (!target.wants_bytes && target.receive_error == 0) return;
    if (const std::size_t got = std::exchange(target.got, 0); got > 0) {
        const auto alive = target.shared_from_this();  // and with it the bytes
        target.observer->on_received({target.buffer.get(), got});
        Entry* const still = find(handle);
        if (still != nullptr && still->wants_bytes && !still->reading && still->got == 0) {
            read(*still);
        }
        return;
    }
    // Only once the buffer is empty: what came before the end, or before the fault, is delivered
    // first.
    const int error = std::exchange(target.receive_error, 0);
    if (error == 0 && !std::exchange(target.ended, false)) return;
    target.wants_bytes = false;
    if (error != 0) return target.observer->on_receive_failed(error);
    target.observer->on_received({});
}

template <typename Executor>
Sent AsioBackend<Executor>::send(IoHandle handle, SendQueue& queue) {
    Entry& target = stream(handle);
    TR_CHECK(target.queue == nullptr, "a send while one is pending");
    std::uint64_t taken = 0;
    while (!queue.empty()) {
        const SendQueue::FileRange range = queue.front_file();
        if (range.descriptor < 0) {
            send_pieces(target, queue);
            return {.bytes = taken, .pending = true};
        }
        auto offset = static_cast<off_t>(range.offset);
        const std::uint64_t wanted =
            std::min<std::uint64_t>(range.bytes, options_.send_file_bytes_max);
        // Asio has no sendfile of its own. The sockets do not block (Kernel makes them so), so what
        // is not taken now is waited for by async_wait.
        const ssize_t sent =
            options_.kernel->send_file(handle.fd, range.descriptor, &offset, wanted);
        if (sent == -EINTR) continue;  // a signal came first: nothing was sent
        // The file became shorter than its range.
        if (sent == 0) return {.bytes = taken, .error = -EBADMSG};
        if (sent < 0 && sent != -EAGAIN) {
            return {.bytes = taken, .error = static_cast<int>(sent)};
        }
        const auto bytes = static_cast<std::uint64_t>(std::max<ssize_t>(sent, 0));
        queue.consume(bytes);
        taken += bytes;
        if (bytes < range.bytes) {
            wait_for_room(target, queue);
            return {.bytes = taken, .pending = true};
        }
    }
    return {.bytes = taken};
}

template <typename Executor>
void AsioBackend<Executor>::send_pieces(Entry& entry, SendQueue& queue) {
    std::array<iovec, Pieces::count_max> views;
    Pieces pieces;
    pieces.count = queue.gather(views);
    for (std::size_t i = 0; i < pieces.count; ++i) {
        pieces.each[i] = asio::const_buffer(views[i].iov_base, views[i].iov_len);
    }
    // A file follows, by another call: the kernel shall not send a small packet before it.
    const int flags = queue.file_after(pieces.count) ? MSG_MORE : 0;
    entry.queue = &queue;
    entry.socket->async_send(
        pieces, flags,
        [this, self = entry.shared_from_this()](const asio::error_code& error, std::size_t sent) {
            if (self->observer == nullptr) return;
            self->sent = error ? -error.value() : static_cast<std::int64_t>(sent);
            note(*self);
        });
}

// The file's turn ends with no bytes: on_sent(0) makes the owner send again, from where it stopped.
template <typename Executor>
void AsioBackend<Executor>::wait_for_room(Entry& entry, SendQueue& queue) {
    entry.queue = &queue;
    entry.socket->async_wait(asio::socket_base::wait_write, [this, self = entry.shared_from_this()](
                                                                const asio::error_code& error) {
        if (self->observer == nullptr) return;
        self->sent = -error.value();
        note(*self);
    });
}

template <typename Executor>
void AsioBackend<Executor>::report_sent(Entry& entry) {
    const std::int64_t result = *std::exchange(entry.sent, std::nullopt);
    SendQueue* const queue = std::exchange(entry.queue, nullptr);
    if (result > 0) queue->consume(static_cast<std::uint64_t>(result));
    entry.observer->on_sent(result);
}

template <typename Executor>
void AsioBackend<Executor>::shut_down_sending(IoHandle handle) {
    options_.kernel->shut_down(entry(handle).handle.fd, SHUT_WR);
}

template <typename Executor>
void AsioBackend<Executor>::report_stream(IoHandle handle) {
    Entry& target = entry(handle);
    // In the order in which they can happen. After each, find() anew: the observer may have closed
    // the connection, and another one may stand in its place.
    if (const auto connected = std::exchange(target.connected, std::nullopt)) {
        target.observer->on_connected(*connected);
    }
    if (find(handle) != nullptr) report_received(handle);
    Entry* const still = find(handle);
    if (still != nullptr && still->sent) report_sent(*still);
}

// --- turns -------------------------------------------------------------------------------------

template <typename Executor>
void AsioBackend<Executor>::tell(IoHandle handle) {
    Entry* const target = find(handle);
    if (target == nullptr) return;
    target->noted = false;
    if (target->purpose == Entry::Purpose::stream) {
        report_stream(handle);
    } else {
        report_plain(handle, *target);
    }
}

template <typename Executor>
void AsioBackend<Executor>::dispatch() {
    // Outcomes noted meanwhile are for the next turn.
    telling_.clear();
    std::swap(telling_, noted_);
    for (const IoHandle handle : telling_) tell(handle);
}

template <typename Executor>
void AsioBackend<Executor>::wait(Duration wait_max) {
    if (in_turn_) return;  // what has completed is noted already
    // After a stop() an io_context runs nothing until it is restarted.
    context_->restart();
    if (!noted_.empty() || wait_max == Duration::zero()) {
        context_->poll();
        return;
    }
    // run_one() waits for the first handler; poll() then runs those that are ready beside it, so
    // that one turn serves all of them.
    wait_max < Duration::zero() ? context_->run_one() : context_->run_one_for(wait_max);
    context_->poll();
}

template <typename Executor>
void AsioBackend<Executor>::wake() {
    // One handler serves any number of wakes. The flag falls before turn_soon(), so a wake during
    // that turn makes another one.
    if (wake_asked_.exchange(true)) return;
    asio::post(executor_, [this] {
        wake_asked_.store(false);
        turn_soon();
    });
}

template <typename Executor>
void AsioBackend<Executor>::drive(core::EventLoop& loop, unique_function<void()> ended) {
    loop_ = &loop;
    ended_ = std::move(ended);
    turn_soon();
}

// Behind the handlers that are due already, so that one turn serves them all.
template <typename Executor>
void AsioBackend<Executor>::turn_soon() {
    if (loop_ == nullptr || in_turn_ || std::exchange(turn_asked_, true)) return;
    asio::post(executor_, [this] { turn(); });
}

template <typename Executor>
void AsioBackend<Executor>::turn() {
    turn_asked_ = false;
    if (loop_ == nullptr) return;
    in_turn_ = true;
    loop_->turn(Duration::zero());
    in_turn_ = false;
    if (loop_->stopping()) {
        // Before the callback: it may stop the io_context, and handlers that still come must not
        // turn a loop that has ended.
        loop_ = nullptr;
        return ended_();
    }
    // note() requests no turn inside of one (in_turn_), so remaining notes are checked here.
    const Duration wanted = noted_.empty() ? loop_->wait_wanted() : Duration::zero();
    if (wanted == Duration::zero()) {
        turn_soon();
    } else if (wanted > Duration::zero()) {
        turn_at(loop_->now() + wanted);
    }
}

// A deadline that moved back leaves the timer as it is: it comes early, once, and is set anew.
template <typename Executor>
void AsioBackend<Executor>::turn_at(Instant when) {
    if (timer_at_ && *timer_at_ <= when) return;
    timer_at_ = when;
    // Ends the earlier wait, whose handler comes with an error and is ignored.
    timer_.expires_at(when);
    timer_.async_wait([this](const asio::error_code& error) {
        if (error) return;  // set anew, or gone
        timer_at_.reset();
        turn_soon();
    });
}

// Both executors of asio.cc: Asio's templates are compiled here and nowhere else.
template class AsioBackend<asio::io_context::executor_type>;
template class AsioBackend<asio::strand<asio::io_context::executor_type>>;

}  // namespace tiderace::lab::engine
