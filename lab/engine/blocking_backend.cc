// How a loop is made of blocking calls. Above it stand the same EventLoop, net and HTTP as above
// epoll, so that only the way of waiting differs.
//
//   turn:  wait()      recv() on the connection: the thread sleeps here
//          dispatch()  its bytes -> HTTP -> send(), which sleeps as well if the socket is full
//
// What an event loop gets from its poller has to come out of one recv():
//   deadlines       SO_RCVTIMEO: recv() returns with EAGAIN, the turn goes on, timers run
//   other threads   a signal ends the call (nudge.h); an eventfd would not, since it is not polled
//   several fds     not at all: with a second descriptor the backend below, an epoll, waits for
//                   both, until one is alone again
//   a slow reader   SO_SNDTIMEO bounds a send(); what is left then waits in the epoll below
//
// Costs: a recv and a send for each request, as few as there can be, and a sleeping thread for each
// silent connection.
#include "lab/engine/blocking_backend.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/time.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <new>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::lab::engine {
namespace {

constexpr Duration forever = Duration::max();
constexpr Duration unknown = Duration(-1);

timeval as_timeval(Duration time) {
    // Up, because a timeval of zero means no timeout: the last nanoseconds before a deadline would
    // become a wait for ever.
    const auto us = std::chrono::ceil<std::chrono::microseconds>(time).count();
    return {.tv_sec = static_cast<time_t>(us / 1'000'000),
            .tv_usec = static_cast<suseconds_t>(us % 1'000'000)};
}

void set_flag_nonblocking(int fd, bool on) {
    const int flags = ::fcntl(fd, F_GETFL);
    ::fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

// For a turn that must not wait: an SO_RCVTIMEO of zero means for ever, and setting O_NONBLOCK and
// taking it back costs more calls.
bool is_readable_now(int fd) {
    pollfd polled{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&polled, 1, 0) > 0;
}

}  // namespace

// A connection of this backend:
//
//   below   the epoll below waits for it, and receives
//      | Sticking::at_once: it is the only one; when_readable: it has brought bytes
//      v
//   stuck   wait() blocks in its recv; the epoll below does not know it
//      | a send found no room for send_block_max, it is paused, it has ended
//      v
//   below   until it is alone, or readable, again
//
// The received bytes (got_from_) wait for dispatch() and for an observer that receives.
//
// Reports of the backend below, on their way to the observer.
class BlockingBackend::Entry final : public core::IoObserver {
  public:
    explicit Entry(BlockingBackend& backend) : backend_(&backend) {}

    core::IoHandle handle;
    core::IoObserver* observer = nullptr;  // nullptr: not attached
    bool receiving = false;                // what the observer requested
    bool below_receives = false;           // what the backend below is set to
    bool waits_for_room = false;
    bool blocks = false;         // O_NONBLOCK is off
    Duration timeout = unknown;  // SO_RCVTIMEO

  private:
    void on_accepted(int fd, const core::Address& peer) override {
        observer->on_accepted(fd, peer);
    }
    void on_accept_failed(int error) override { observer->on_accept_failed(error); }
    void on_connected(int error) override { observer->on_connected(error); }
    void on_received(ByteView bytes) override {
        // The observer may close the connection, and a new one may have its number, and so this
        // entry.
        const std::uint32_t generation = handle.generation;
        if (bytes.empty()) receiving = below_receives = false;
        observer->on_received(bytes);
        const bool is_still = observer != nullptr && handle.generation == generation;
        if (is_still && receiving && !waits_for_room && backend_->stuck_ == nullptr &&
            backend_->sticking_ == Sticking::when_readable) {
            backend_->stick_to(*this);
        }
    }
    void on_receive_failed(int error) override {
        receiving = below_receives = false;
        observer->on_receive_failed(error);
    }
    void on_sent(std::int64_t result) override {
        waits_for_room = false;
        observer->on_sent(result);
    }
    void on_ready(bool readable, bool writable) override { observer->on_ready(readable, writable); }

    BlockingBackend* backend_;
};

BlockingBackend::BlockingBackend(std::unique_ptr<core::Backend> below,
                                 const core::BackendOptions& options, Sticking sticking)
    : below_(std::move(below)),
      options_(options),
      sticking_(sticking),
      buffer_(std::make_unique_for_overwrite<char[]>(options.receive_bytes)) {}

BlockingBackend::~BlockingBackend() = default;

BlockingBackend::Entry& BlockingBackend::entry(core::IoHandle handle) const {
    const auto number = static_cast<std::size_t>(handle.fd);
    TR_CHECK(handle.fd >= 0 && number < entries_.size() && entries_[number] != nullptr);
    Entry& found = *entries_[number];
    TR_CHECK(found.observer != nullptr && found.handle.generation == handle.generation,
             "a handle that was closed");
    return found;
}

Result<core::IoHandle> BlockingBackend::attach(int fd, core::IoObserver& observer) {
    const auto number = static_cast<std::size_t>(fd);
    // All that allocates comes first, and fails as core's backends do: the caller still has the
    // descriptor, and behind an exception nothing would close it.
    try {
        if (number >= entries_.size()) entries_.resize(number + 1);
        if (entries_[number] == nullptr) entries_[number] = std::make_unique<Entry>(*this);
        attached_.push_back(entries_[number].get());
    } catch (const std::bad_alloc&) {
        return fail({ENOMEM, "watch", "a socket"});
    }
    auto& place = entries_[number];
    auto handle = below_->attach(fd, *place);
    if (!handle) {
        attached_.pop_back();
        return handle;
    }
    place->handle = *handle;
    place->observer = &observer;
    // The entry may have served an earlier connection of this number, whose socket had other
    // settings.
    place->receiving = place->below_receives = place->waits_for_room = place->blocks = false;
    place->timeout = unknown;
    return handle;
}

void BlockingBackend::forget(core::IoHandle handle) {
    Entry& gone = entry(handle);
    if (stuck_ == &gone) stuck_ = nullptr;
    if (got_from_ == &gone) got_from_ = nullptr;
    gone.observer = nullptr;
    std::erase(attached_, &gone);
}

void BlockingBackend::detach(core::IoHandle& handle) {
    // It is the caller's again, as it was given.
    if (entry(handle).blocks) set_flag_nonblocking(handle.fd, true);
    forget(handle);
    below_->detach(handle);
}

void BlockingBackend::close(core::IoHandle& handle, core::SendQueue&& unsent) {
    forget(handle);
    below_->close(handle, std::move(unsent));
}

void BlockingBackend::set_accepting(core::IoHandle handle, bool on) {
    below_->set_accepting(handle, on);
}

void BlockingBackend::start_connect(core::IoHandle handle, const core::Address& address) {
    below_->start_connect(handle, address);
}

void BlockingBackend::shut_down_sending(core::IoHandle handle) {
    below_->shut_down_sending(handle);
}

int BlockingBackend::watch(core::IoHandle handle, bool readable, bool writable) {
    return below_->watch(handle, readable, writable);
}

void BlockingBackend::set_receiving(core::IoHandle handle, bool on) {
    Entry& stream = entry(handle);
    stream.receiving = on;
    if (stuck_ == &stream && !on) stuck_ = nullptr;
    // In a loop for one connection wait() chooses the socket, so epoll watches none.
    if (sticking_ == Sticking::when_readable || stream.below_receives) update_below(stream);
}

void BlockingBackend::update_below(Entry& stream) {
    // Not while it is stuck to: epoll would report, and the backend below would receive, the bytes
    // for which this thread blocks. Also not while bytes of it are kept here, or later
    // ones would overtake them.
    const bool wanted = stream.receiving && stuck_ != &stream && got_from_ != &stream;
    if (wanted == stream.below_receives) return;
    stream.below_receives = wanted;
    below_->set_receiving(stream.handle, wanted);
}

core::Sent BlockingBackend::send(core::IoHandle handle, core::SendQueue& queue) {
    Entry& stream = entry(handle);
    const core::Sent sent = below_->send(handle, queue);
    stream.waits_for_room = sent.pending;
    // SO_SNDTIMEO has passed: the peer reads slowly, or not at all.
    if (sent.pending && stuck_ == &stream) unstick();
    return sent;
}

// It has to be waited for in two ways at once: for that there is epoll.
void BlockingBackend::unstick() {
    Entry& stream = *std::exchange(stuck_, nullptr);
    if (sticking_ == Sticking::when_readable) update_below(stream);
}

void BlockingBackend::stick_to(Entry& stream) {
    stuck_ = &stream;
    update_below(stream);
    make_blocking(stream);
}

void BlockingBackend::stick_if_alone() {
    Entry* const only = attached_.size() == 1 ? attached_.front() : nullptr;
    if (only != nullptr && only->receiving && !only->waits_for_room) {
        stick_to(*only);
        return;
    }
    // Several, or one whose send is pending: the epoll below waits for them, until one is alone
    // again.
    for (Entry* each : attached_) update_below(*each);
}

void BlockingBackend::make_blocking(Entry& stream) {
    if (std::exchange(stream.blocks, true)) return;
    set_flag_nonblocking(stream.handle.fd, false);
    // Also blocks in send, but not for ever: a peer that reads nothing would otherwise hold the
    // thread past every deadline of its connection.
    const timeval most = as_timeval(send_block_max);
    options_.kernel->set_option(stream.handle.fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
}

// Returning early does no harm, so one timeout serves for many waits: a call is paid only when it
// would be too long, or is so short that it wakes an idle thread again and again.
void BlockingBackend::set_timeout(Entry& stream, Duration wait_max) {
    const Duration wanted = wait_max < Duration::zero() ? forever : wait_max;
    if (stream.timeout != unknown && stream.timeout <= wanted &&
        (stream.timeout == wanted || (stream.timeout >= 1s && stream.timeout >= wanted / 4))) {
        return;
    }
    Duration set = wanted;
    // A power of two below it: waits that are a little shorter or longer keep it (above).
    if (wanted != forever && wanted > 1s) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wanted).count();
        set = std::chrono::seconds(std::bit_floor(static_cast<std::uint64_t>(seconds)));
    }
    stream.timeout = set;
    const timeval time = set == forever ? timeval{} : as_timeval(set);
    options_.kernel->set_option(stream.handle.fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

void BlockingBackend::wait(Duration wait_max) {
    if (got_from_ != nullptr && got_from_->receiving) return;  // dispatch() has work
    // Not while bytes are kept for an observer that is paused: there is one buffer.
    if (stuck_ == nullptr && sticking_ == Sticking::at_once && got_from_ == nullptr) {
        stick_if_alone();
    }
    if (stuck_ != nullptr && got_from_ == nullptr) {
        receive(wait_max);
    } else {
        below_->wait(wait_max);
        nudge_.end();  // this wait() has returned; the turn runs all earlier posts
    }
}

// The nudge frames the call: wake() from another thread ends it by a signal, and a wake that came
// just before is seen by begin().
void BlockingBackend::receive(Duration wait_max) {
    Entry& stream = *stuck_;
    ssize_t got = -EAGAIN;
    if (wait_max == Duration::zero()) {
        if (!is_readable_now(stream.handle.fd)) return;
        got = options_.kernel->receive(stream.handle.fd, buffer_.get(), options_.receive_bytes);
    } else {
        set_timeout(stream, wait_max);
        if (!nudge_.begin(stream.handle.fd)) return;
        got = options_.kernel->receive(stream.handle.fd, buffer_.get(), options_.receive_bytes);
        nudge_.end();
    }
    // The handler of a nudge may have shortened SO_RCVTIMEO, and whether it did is not known here.
    if (got == -EAGAIN || got == -EWOULDBLOCK || got == -EINTR) {
        stream.timeout = unknown;
        return;
    }
    got_from_ = &stream;
    got_ = got;
}

void BlockingBackend::dispatch() {
    below_->dispatch();
    if (got_from_ == nullptr || !got_from_->receiving) return;
    Entry& stream = *std::exchange(got_from_, nullptr);
    if (got_ > 0) {
        const std::uint32_t generation = stream.handle.generation;
        stream.observer->on_received({buffer_.get(), static_cast<std::size_t>(got_)});
        const bool is_still = stream.observer != nullptr && stream.handle.generation == generation;
        if (is_still && sticking_ == Sticking::when_readable) update_below(stream);
        return;
    }
    stream.receiving = false;
    if (stuck_ == &stream) stuck_ = nullptr;
    if (got_ == 0) {
        stream.observer->on_received({});
    } else {
        stream.observer->on_receive_failed(static_cast<int>(got_));
    }
}

void BlockingBackend::wake() {
    // Where the thread does not block in a receive, it waits in the backend below, or will.
    if (!nudge_.nudge()) below_->wake();
}

namespace {

Result<std::unique_ptr<core::Backend>> make(const core::BackendOptions& options,
                                            Sticking sticking) {
    // What it waits in while it has several descriptors; a loop of one connection needs it for the
    // mailbox until that comes, and for a send that is stuck.
    auto below = core::make_backend("auto", options);
    if (!below) return below;
    return std::make_unique<BlockingBackend>(std::move(*below), options, sticking);
}

}  // namespace

Result<std::unique_ptr<core::Backend>> make_blocking_backend(const core::BackendOptions& options) {
    return make(options, Sticking::at_once);
}

Result<std::unique_ptr<core::Backend>> make_blocking_epoll_backend(
    const core::BackendOptions& options) {
    return make(options, Sticking::when_readable);
}

}  // namespace tiderace::lab::engine
