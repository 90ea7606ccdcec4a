// libevent's bufferevents under our HTTP: a library that buffers for its users.
//
//   wait()      event_base_loop -> epoll_wait -> readv into the input, writev from the output
//                                              -> our callbacks, which only note it
//   dispatch()  what was noted -> its observer -> HTTP -> send(): into the output, and no further
//   wait()      epoll reports room for the output -> written
//
// Waits      An epoll for each event_base, and there is one for each thread.
// Accepts    Each base for itself, by a plain event on a listener of its own.
// Owns       The base that accepted it; its bytes are libevent's until they are drained.
// Costs      An answer waits for another round of epoll, with one epoll_ctl to watch for room and
//            one to stop that: a bufferevent never tries to write at once. Small answers are copied
//            into the output.
// Fails at   Nothing; it is the second round through epoll that servers on epoll alone do not pay.
//
// Two things of libevent shape this file. A callback runs inside event_base_loop: so callbacks only
// note, and dispatch() acts. And libevent does not report how much was written: the length of the
// output, before and after, is the only measure.
#include "lab/engine/libevent.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/descriptor_table.h"
#include "tiderace/core/backend/direct_accept.h"
#include "tiderace/core/backend/waker.h"

namespace tiderace::lab::engine {
namespace {

using core::IoHandle;
using core::IoObserver;
using core::SendQueue;
using core::Sent;

constexpr std::uint64_t copy_bytes_max = 16_KiB;   // above, a piece is referenced
constexpr std::uint64_t batch_bytes_max = 64_KiB;  // copied into the output at once
constexpr std::size_t write_bytes_max = 1_MiB;     // of one call; libevent's own is 16 KiB
constexpr std::size_t pieces_per_batch = 64;

struct FreeBase {
    void operator()(event_base* base) const { event_base_free(base); }
};
struct FreeEvent {
    void operator()(event* one) const { event_free(one); }
};
struct FreeStream {
    void operator()(bufferevent* one) const { bufferevent_free(one); }
};
using OwnedEvent = std::unique_ptr<event, FreeEvent>;

class LibeventBackend;

// One for each descriptor number; libevent's callbacks hold its address, so that it is never moved.
//
//   none --set_accepting()--> accept    a plain event
//     |  --watch()----------> watch     a plain event
//     |  --start_connect()--> connect   a plain event, until it is connected
//     |                          |
//     +---set_receiving(), send()+----> stream   a bufferevent
//
// Callbacks only note what happened (note()); dispatch() reports it, because a callback
// runs inside libevent's own loop, where a descriptor must not be closed and given anew.
struct Entry {
    enum class Purpose : std::uint8_t { none, accept, connect, watch, stream };

    explicit Entry(LibeventBackend& b) : backend(&b) {}

    LibeventBackend* backend;
    IoObserver* observer = nullptr;
    int fd = -1;
    std::uint32_t generation = 0;
    Purpose purpose = Purpose::none;
    bool noted = false;  // stands in the list of sockets that have something to report

    // accept, connect, watch
    OwnedEvent event;
    bool readable = false;
    bool writable = false;
    int refused = 0;  // a connect that failed in the call

    // stream
    std::unique_ptr<bufferevent, FreeStream> stream;
    bool wants_bytes = false;
    bool ended = false;     // and not reported
    bool wrote = false;     // some of the output is gone
    bool shrank = false;    // a file in the output became shorter
    int receive_error = 0;  // and not reported
    int send_error = 0;
    SendQueue* queue = nullptr;    // of the send that is pending
    std::uint64_t referenced = 0;  // bytes at its front that the output refers to

    evbuffer* input() const { return bufferevent_get_input(stream.get()); }
    evbuffer* output() const { return bufferevent_get_output(stream.get()); }
};

class LibeventBackend final : public core::Backend {
  public:
    explicit LibeventBackend(const core::BackendOptions& options);

    std::string_view name() const override { return "libevent"; }
    Result<IoHandle> attach(int fd, IoObserver& observer) override;
    void detach(IoHandle& handle) override { forget(handle); }
    void close(IoHandle& handle, SendQueue&& unsent) override;
    void set_accepting(IoHandle handle, bool on) override;
    void start_connect(IoHandle handle, const core::Address& address) override;
    void set_receiving(IoHandle handle, bool on) override;
    Sent send(IoHandle handle, SendQueue& queue) override;
    void shut_down_sending(IoHandle handle) override;
    int watch(IoHandle handle, bool readable, bool writable) override;
    void wait(Duration wait_max) override;
    void dispatch() override;
    void wake() override { waker_.wake(); }

    void note(Entry& entry);
    void note_event(Entry& entry, short what);
    void note_stream_event(Entry& entry, short what);

  private:
    Entry* find(IoHandle handle) const;
    Entry& entry(IoHandle handle) const;
    void forget(IoHandle& handle);
    void ask_for(Entry& entry, Entry::Purpose purpose, short what);
    Entry& stream(IoHandle handle);
    void fill_output(Entry& stream, SendQueue& queue, std::uint64_t& consumed);
    bool add_file(Entry& stream, const SendQueue& queue);
    void tell(IoHandle handle);
    void accept_some(IoHandle handle);
    void finish_connect(Entry& entry);
    void deliver(IoHandle handle);
    void report_sent(Entry& stream);

    std::unique_ptr<event_base, FreeBase> base_;
    core::BackendOptions options_;
    core::Waker waker_;
    OwnedEvent wake_event_;
    OwnedEvent timer_;
    std::vector<std::unique_ptr<Entry>> entries_;  // by descriptor number, kept for reuse
    std::vector<IoHandle> noted_;
    std::vector<IoHandle> telling_;  // what dispatch() goes over
};

// --- what libevent calls -----------------------------------------------------------------------

void on_event(evutil_socket_t, short what, void* context) {
    Entry& entry = *static_cast<Entry*>(context);
    entry.backend->note_event(entry, what);
}
void on_bytes(bufferevent*, void* context) {
    Entry& entry = *static_cast<Entry*>(context);
    entry.backend->note(entry);
}
void on_written(bufferevent*, void* context) {
    Entry& entry = *static_cast<Entry*>(context);
    entry.wrote = true;
    entry.backend->note(entry);
}
void on_stream_event(bufferevent*, short what, void* context) {
    Entry& entry = *static_cast<Entry*>(context);
    entry.backend->note_stream_event(entry, what);
}

LibeventBackend::LibeventBackend(const core::BackendOptions& options)
    : base_(event_base_new()), options_(options) {
    TR_CHECK(base_ != nullptr, "no descriptor left for an event_base");
    const auto clear = [](evutil_socket_t, short, void* waker) {
        static_cast<core::Waker*>(waker)->clear();
    };
    wake_event_.reset(
        event_new(base_.get(), waker_.descriptor(), EV_READ | EV_PERSIST, clear, &waker_));
    timer_.reset(evtimer_new(base_.get(), [](evutil_socket_t, short, void*) {}, nullptr));
    TR_CHECK(wake_event_ != nullptr && timer_ != nullptr, "no memory for an event");
    TR_CHECK(event_add(wake_event_.get(), nullptr) == 0);
}

void LibeventBackend::note(Entry& entry) {
    // Once for each turn, whatever happened: tell() looks at all of it.
    if (std::exchange(entry.noted, true)) return;
    noted_.push_back({entry.fd, entry.generation});
}

void LibeventBackend::note_event(Entry& entry, short what) {
    entry.readable |= (what & EV_READ) != 0;
    entry.writable |= (what & EV_WRITE) != 0;
    note(entry);
}

void LibeventBackend::note_stream_event(Entry& entry, short what) {
    // First: any call below may change it, and libevent leaves the cause of the event nowhere else.
    const int error = errno;
    if ((what & BEV_EVENT_READING) != 0) {
        if ((what & BEV_EVENT_EOF) != 0) entry.ended = true;
        if ((what & BEV_EVENT_ERROR) != 0) entry.receive_error = error > 0 ? -error : -ECONNRESET;
    } else {
        // A write that came to nothing: sendfile at the end of a file that was longer.
        if ((what & BEV_EVENT_EOF) != 0) entry.shrank = true;
        if ((what & BEV_EVENT_ERROR) != 0) entry.send_error = error > 0 ? -error : -EPIPE;
    }
    note(entry);
}

// --- the loop's side ---------------------------------------------------------------------------

Entry* LibeventBackend::find(IoHandle handle) const {
    const auto number = static_cast<std::size_t>(handle.fd);
    if (handle.fd < 0 || number >= entries_.size()) return nullptr;
    Entry* const found = entries_[number].get();
    const bool same =
        found != nullptr && found->observer != nullptr && found->generation == handle.generation;
    return same ? found : nullptr;
}

Entry& LibeventBackend::entry(IoHandle handle) const {
    Entry* const found = find(handle);
    TR_CHECK(found != nullptr, "a handle that was closed");
    return *found;
}

Result<IoHandle> LibeventBackend::attach(int fd, IoObserver& observer) {
    TR_CHECK(fd >= 0);
    const auto number = static_cast<std::size_t>(fd);
    // Fails as core's backends do: behind an exception nothing would close the descriptor.
    try {
        core::grow_for(entries_, number);
        if (entries_[number] == nullptr) entries_[number] = std::make_unique<Entry>(*this);
    } catch (const std::bad_alloc&) {
        return fail({ENOMEM, "watch", "a socket"});
    }
    Entry& fresh = *entries_[number];
    TR_CHECK(fresh.observer == nullptr, "attached twice");
    fresh.fd = fd;
    fresh.observer = &observer;
    // The number may be in noted_ for the descriptor that had it before: find() tells them apart.
    ++fresh.generation;
    return IoHandle{fd, fresh.generation};
}

void LibeventBackend::forget(IoHandle& handle) {
    Entry& gone = entry(handle);
    // Kept over the reset, so that a handle of an earlier descriptor in noted_ is not found again.
    const std::uint32_t generation = gone.generation;
    gone = Entry(*this);  // libevent forgets the descriptor here, and frees its own a turn later
    gone.generation = generation;
    handle = IoHandle{};
}

void LibeventBackend::close(IoHandle& handle, SendQueue&& unsent) {
    const int fd = handle.fd;
    // First libevent, then the kernel: its epoll must not keep a number that the next socket gets.
    forget(handle);
    options_.kernel->close(fd);
    unsent.clear();  // the output, which referred to it, writes no more
}

void LibeventBackend::ask_for(Entry& entry, Entry::Purpose purpose, short what) {
    entry.purpose = purpose;
    entry.event.reset();
    if (what == 0) return;
    entry.event.reset(event_new(base_.get(), entry.fd, what, on_event, &entry));
    TR_CHECK(entry.event != nullptr && event_add(entry.event.get(), nullptr) == 0,
             "libevent cannot watch a descriptor");
}

void LibeventBackend::set_accepting(IoHandle handle, bool on) {
    ask_for(entry(handle), Entry::Purpose::accept, on ? EV_READ | EV_PERSIST : 0);
}

int LibeventBackend::watch(IoHandle handle, bool readable, bool writable) {
    const short what = static_cast<short>((readable ? EV_READ : 0) | (writable ? EV_WRITE : 0));
    ask_for(entry(handle), Entry::Purpose::watch,
            what != 0 ? static_cast<short>(what | EV_PERSIST) : what);
    return 0;
}

void LibeventBackend::start_connect(IoHandle handle, const core::Address& address) {
    Entry& target = entry(handle);
    sockaddr_storage storage;
    const socklen_t bytes = address.to_sockaddr(storage);
    const int outcome =
        options_.kernel->connect(handle.fd, reinterpret_cast<const sockaddr*>(&storage), bytes);
    if (outcome == 0 || outcome == -EINPROGRESS || outcome == -EINTR) {
        return ask_for(target, Entry::Purpose::connect, EV_WRITE);
    }
    target.purpose = Entry::Purpose::connect;
    target.refused = outcome;
    note(target);
}

Entry& LibeventBackend::stream(IoHandle handle) {
    Entry& target = entry(handle);
    if (target.stream != nullptr) return target;
    target.event.reset();  // of the connect: a bufferevent has events of its own
    target.purpose = Entry::Purpose::stream;
    // Without BEV_OPT_CLOSE_ON_FREE: detach() leaves the descriptor open, and close() closes it
    // through the Kernel of the options.
    target.stream.reset(bufferevent_socket_new(base_.get(), handle.fd, 0));
    TR_CHECK(target.stream != nullptr, "no memory for a bufferevent");
    bufferevent* const made = target.stream.get();
    bufferevent_setcb(made, on_bytes, on_written, on_stream_event, &target);
    // The low mark as high as it goes: told after each write, not only when all is out.
    bufferevent_setwatermark(made, EV_WRITE, EV_SIZE_MAX, 0);
    bufferevent_set_max_single_read(made, options_.receive_bytes);
    bufferevent_set_max_single_write(made, write_bytes_max);
    return target;
}

void LibeventBackend::set_receiving(IoHandle handle, bool on) {
    Entry& target = stream(handle);
    target.wants_bytes = on;
    if (!on) {
        // The read bytes stay in the input: the bytes of one read at most, because deliver() leaves
        // none behind while they are wanted.
        bufferevent_disable(target.stream.get(), EV_READ);
        return;
    }
    bufferevent_enable(target.stream.get(), EV_READ);
    // Bytes that came before the pause, and were not wanted then.
    if (evbuffer_get_length(target.input()) > 0 || target.ended || target.receive_error != 0) {
        note(target);
    }
}

Sent LibeventBackend::send(IoHandle handle, SendQueue& queue) {
    Entry& target = stream(handle);
    if (target.send_error != 0) return {.error = target.send_error};
    // As core's backends report it: the head has promised more than there is (core/backend.h).
    if (target.shrank) return {.error = -EBADMSG};
    // Kept, because libevent writes later: report_sent() then consumes what went out.
    target.queue = &queue;
    std::uint64_t consumed = 0;
    // A batch is out before the next goes in: the queue shows only its front.
    if (target.referenced == 0) fill_output(target, queue, consumed);
    if (target.send_error != 0) return {.bytes = consumed, .error = target.send_error};
    return {.bytes = consumed, .pending = true};
}

// Small pieces are copied into the output and leave the queue at once. Large ones and files stay in
// it until they are sent (referenced), because the output only refers to their memory.
void LibeventBackend::fill_output(Entry& target, SendQueue& queue, std::uint64_t& consumed) {
    std::array<iovec, pieces_per_batch> pieces;
    while (!queue.empty() && consumed < batch_bytes_max) {
        const std::size_t count = queue.gather(pieces);
        if (count == 0) {
            if (!add_file(target, queue)) target.send_error = -ENOMEM;
            return;
        }
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < count; ++i) bytes += pieces[i].iov_len;
        const bool copied = bytes <= copy_bytes_max;
        for (std::size_t i = 0; i < count; ++i) {
            const auto& [at, size] = pieces[i];
            const int added =
                copied ? evbuffer_add(target.output(), at, size)
                       : evbuffer_add_reference(target.output(), at, size, nullptr, nullptr);
            TR_CHECK(added == 0, "no memory for an evbuffer");
        }
        if (!copied) {
            target.referenced = bytes;
            return;
        }
        queue.consume(bytes);
        consumed += bytes;
    }
}

// The queue keeps the file open until its bytes are consumed.
bool LibeventBackend::add_file(Entry& target, const SendQueue& queue) {
    const SendQueue::FileRange range = queue.front_file();
    const auto bytes = std::min<std::uint64_t>(range.bytes, options_.send_file_bytes_max);
    evbuffer_file_segment* const segment = evbuffer_file_segment_new(
        range.descriptor, static_cast<ev_off_t>(range.offset), static_cast<ev_off_t>(bytes), 0);
    if (segment == nullptr) return false;
    const int added =
        evbuffer_add_file_segment(target.output(), segment, 0, static_cast<ev_off_t>(bytes));
    evbuffer_file_segment_free(segment);  // the output has a reference of its own
    target.referenced = bytes;
    return added == 0;
}

void LibeventBackend::shut_down_sending(IoHandle handle) {
    // Nothing is in the output: a send is pending until libevent has written it.
    options_.kernel->shut_down(entry(handle).fd, SHUT_WR);
}

// --- a turn ------------------------------------------------------------------------------------

// One round of libevent's loop, which is made to run for ever: EVLOOP_ONCE ends it behind the first
// events, and the timer is the event that ends a wait without any.
void LibeventBackend::wait(Duration wait_max) {
    // dispatch() has outcomes to report already, and a wait would delay them.
    if (!noted_.empty()) wait_max = Duration::zero();
    int flags = EVLOOP_ONCE;
    if (wait_max == Duration::zero()) {
        flags = EVLOOP_NONBLOCK;
    } else if (wait_max > Duration::zero()) {
        const auto us = std::chrono::ceil<std::chrono::microseconds>(wait_max).count();
        const timeval until{.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
        TR_CHECK(event_add(timer_.get(), &until) == 0);
    }
    TR_CHECK(event_base_loop(base_.get(), flags) >= 0, "libevent's loop is broken");
    // It may not have expired, and would end a later wait early.
    if (wait_max > Duration::zero()) event_del(timer_.get());
}

void LibeventBackend::dispatch() {
    // Sockets noted meanwhile are for the next turn.
    telling_.clear();
    std::swap(telling_, noted_);
    for (const IoHandle handle : telling_) {
        Entry* const target = find(handle);
        if (target == nullptr) continue;
        target->noted = false;
        tell(handle);
    }
}

void LibeventBackend::tell(IoHandle handle) {
    Entry& target = entry(handle);
    const bool readable = std::exchange(target.readable, false);
    const bool writable = std::exchange(target.writable, false);
    switch (target.purpose) {
        case Entry::Purpose::accept:
            if (target.event != nullptr) accept_some(handle);
            return;
        case Entry::Purpose::connect:
            return finish_connect(target);
        case Entry::Purpose::watch:
            if (target.event != nullptr) target.observer->on_ready(readable, writable);
            return;
        case Entry::Purpose::stream:
            deliver(handle);
            if (Entry* const still = find(handle)) report_sent(*still);
            return;
        case Entry::Purpose::none:
            return;
    }
}

void LibeventBackend::accept_some(IoHandle handle) {
    core::accept_directly(*options_.kernel, handle.fd, *entry(handle).observer,
                          core::accepts_of_turn(telling_.size(), options_), [&] {
                              const Entry* const still = find(handle);
                              return still != nullptr && still->event != nullptr;
                          });
}

void LibeventBackend::finish_connect(Entry& target) {
    // A connect that failed in the call was kept until here, because outcomes come only from
    // dispatch().
    int error = -std::exchange(target.refused, 0);
    socklen_t bytes = sizeof error;
    int outcome = 0;
    if (error == 0) {
        outcome = options_.kernel->get_option(target.fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    }
    target.event.reset();
    target.observer->on_connected(outcome < 0 ? outcome : -error);
}

// The observer may pause and close at every call.
void LibeventBackend::deliver(IoHandle handle) {
    const auto wanting = [&]() -> Entry* {
        Entry* const target = find(handle);
        return target != nullptr && target->wants_bytes ? target : nullptr;
    };
    evbuffer_iovec piece;
    while (Entry* const target = wanting()) {
        if (evbuffer_peek(target->input(), -1, nullptr, &piece, 1) <= 0 || piece.iov_len == 0)
            break;
        target->observer->on_received({static_cast<const char*>(piece.iov_base), piece.iov_len});
        // Closed by the observer: the bufferevent is gone, and the bytes with it.
        if (find(handle) == nullptr) return;
        evbuffer_drain(target->input(), piece.iov_len);
    }
    Entry* const target = wanting();
    if (target == nullptr) return;
    const bool ended = std::exchange(target->ended, false);
    const int error = std::exchange(target->receive_error, 0);
    if (!ended && error == 0) return;
    target->wants_bytes = false;
    bufferevent_disable(target->stream.get(), EV_READ);
    if (error != 0) return target->observer->on_receive_failed(error);
    target->observer->on_received({});
}

void LibeventBackend::report_sent(Entry& target) {
    const bool wrote = std::exchange(target.wrote, false);
    // No send is pending: copied bytes went out, or an error is kept for the next send().
    if (target.queue == nullptr) return;
    if (target.send_error != 0) {
        target.queue = nullptr;
        return target.observer->on_sent(target.send_error);
    }
    // libevent reports that something left, not how much: the rest in the output shows it.
    const std::uint64_t left = evbuffer_get_length(target.output());
    std::uint64_t taken = 0;
    // Copied bytes come before referenced ones.
    if (left < target.referenced) {
        taken = target.referenced - left;
        target.referenced = left;
        target.queue->consume(taken);
    }
    // Copied bytes have left the queue already, and are reported as sent when all of them are out.
    // The next send() reports a file that shrank.
    if (!target.shrank && (!wrote || (taken == 0 && left > 0))) return;
    target.queue = nullptr;
    target.observer->on_sent(static_cast<std::int64_t>(taken));
}

class LibeventModel final : public ThreadingModel {
  public:
    Result<std::unique_ptr<net::LoopGroup>> make_loops(std::size_t count,
                                                       const core::LoopOptions& options) override {
        core::LoopOptions ours = options;
        ours.make_backend = make_libevent_backend;
        return net::LoopGroup::create(count, ours);
    }
    std::string_view core_engine(std::string_view) const override { return "auto"; }
};

}  // namespace

std::string_view libevent_absent() {
    return "";
}

Result<std::unique_ptr<core::Backend>> make_libevent_backend(const core::BackendOptions& options) {
    return std::make_unique<LibeventBackend>(options);
}

std::unique_ptr<ThreadingModel> arrange_libevent() {
    return std::make_unique<LibeventModel>();
}

}  // namespace tiderace::lab::engine
