#include "tiderace/core/backend/kqueue.h"

#include <sys/event.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/descriptor_table.h"

namespace tiderace::core {
namespace {

constexpr std::size_t events_per_wait = 512;
constexpr Duration wait_max = std::chrono::hours(1);  // systems differ in the longest they take

using Event = struct kevent;
using UserData = decltype(Event::udata);  // a pointer, or an integer on older NetBSD

UserData to_udata(std::uint32_t generation) {
    return (UserData)(static_cast<std::uintptr_t>(generation));
}

std::uint32_t generation_of(const Event& event) {
    return static_cast<std::uint32_t>((std::uintptr_t)(event.udata));
}

Event change(int fd, decltype(Event::filter) filter, unsigned flags, std::uint32_t generation) {
    Event made{};
    made.ident = static_cast<decltype(made.ident)>(fd);
    made.filter = filter;
    made.flags = static_cast<decltype(made.flags)>(flags);
    made.udata = to_udata(generation);
    return made;
}

timespec to_timespec(Duration wait) {
    const std::int64_t ns = std::min(wait, wait_max) / std::chrono::nanoseconds(1);
    timespec time{};
    time.tv_sec = static_cast<decltype(time.tv_sec)>(ns / 1'000'000'000);
    time.tv_nsec = static_cast<decltype(time.tv_nsec)>(ns % 1'000'000'000);
    return time;
}

class KqueuePoller final : public Poller {
  public:
    explicit KqueuePoller(std::unique_ptr<KernelQueue> queue);

    int set(int fd, std::uint32_t generation, Interest interest, bool known) override;
    void remove(int fd, Afterwards afterwards) override;
    int wait(std::span<Ready> out, Duration wait) override;
    void wake() override;

  private:
    struct State {
        std::uint32_t generation = 0;
        Interest wanted;
        Interest told;         // what the kernel watches
        bool renewed = false;  // registered under an earlier generation
        bool listed = false;   // in changed_
    };

    State& state(int fd) { return states_[static_cast<std::size_t>(fd)]; }
    void list(int fd, State& changed);
    bool has_room_for_changes();
    void collect_changes();
    void collect(int fd, decltype(Event::filter) filter, bool wanted, bool& told, State& changed);
    int exchange(Duration wait);
    // Writes down what the events mean. True: some of them were refusals of changes.
    bool read_events(int count, std::span<Ready> out, int& told);
    bool read_refusal(const Event& refusal, Ready& out);
    bool read_event(const Event& event, Ready& out);

    std::unique_ptr<KernelQueue> queue_;
    std::vector<State> states_;  // by descriptor number
    std::vector<int> changed_;   // descriptors whose `wanted` may differ from `told`
    std::vector<Event> changes_;
    std::vector<Event> events_;
    bool woken_ = false;    // the last exchange brought a wake()
    bool refused_ = false;  // a wanted filter is missing: try again soon
};

KqueuePoller::KqueuePoller(std::unique_ptr<KernelQueue> queue) : queue_(std::move(queue)) {
    events_.resize(events_per_wait);
    changes_.reserve(events_per_wait);
    // It has no descriptor: its number 0 is the wakeup's own.
    const Event wakeup = change(0, EVFILT_USER, EV_ADD | EV_CLEAR, 0);
    const timespec at_once{};
    TR_CHECK(queue_->exchange({&wakeup, 1}, {}, &at_once) == 0, "kevent refuses EVFILT_USER");
}

void KqueuePoller::wake() {
    Event trigger = change(0, EVFILT_USER, 0, 0);
    trigger.fflags = NOTE_TRIGGER;
    const timespec at_once{};
    queue_->exchange({&trigger, 1}, {}, &at_once);
}

void KqueuePoller::list(int fd, State& changed) {
    if (!std::exchange(changed.listed, true)) changed_.push_back(fd);
}

//
//   set()/remove() -> wanted, listed --wait()--> collect_changes(): told = wanted
//                       ^                            |
//                       |                            | EV_ADD and EV_DELETE, in the call that waits
//                       +--- read_refusal(): told = false, tried again by a later wait()
//
// The kernel learns of it with the next wait, so a change that is taken back in the same turn costs
// nothing.
int KqueuePoller::set(int fd, std::uint32_t generation, Interest interest, bool) {
    const auto number = static_cast<std::size_t>(fd);
    try {
        grow_for(states_, number);
        changed_.reserve(states_.size());  // each is in it once: list() does not allocate
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }
    State& changed = states_[number];
    changed.renewed |= changed.generation != generation;
    changed.generation = generation;
    changed.wanted = interest;
    list(fd, changed);
    return 0;
}

// Closing deletes the filters, whatever still holds the file: they belong to the number. A deletion
// that comes later would only be refused.
void KqueuePoller::remove(int fd, Afterwards afterwards) {
    State& gone = state(fd);
    if (afterwards == Afterwards::closed) {
        gone = State{.listed = gone.listed};
        return;
    }
    gone.wanted = {};
    if (gone.told.any()) list(fd, gone);
}

void KqueuePoller::collect(int fd, decltype(Event::filter) filter, bool wanted, bool& told,
                           State& changed) {
    if (wanted && (!told || changed.renewed)) {
        changes_.push_back(change(fd, filter, EV_ADD, changed.generation));
    } else if (!wanted && told) {
        changes_.push_back(change(fd, filter, EV_DELETE, changed.generation));
    }
    told = wanted;
}

// False: there is no memory for them now.
bool KqueuePoller::has_room_for_changes() {
    const std::size_t needed = changes_.size() + 2 * changed_.size();
    try {
        if (needed > changes_.capacity()) changes_.reserve(needed + needed / 2);
        if (needed > events_.size()) events_.resize(needed + needed / 2);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void KqueuePoller::collect_changes() {
    for (const int fd : changed_) {
        State& changed = state(fd);
        changed.listed = false;
        collect(fd, EVFILT_READ, changed.wanted.readable, changed.told.readable, changed);
        collect(fd, EVFILT_WRITE, changed.wanted.writable, changed.told.writable, changed);
        changed.renewed = false;
    }
    changed_.clear();
}

int KqueuePoller::exchange(Duration wait) {
    // Room for the refusal of every change: what finds none would fail the call half-way.
    TR_CHECK(changes_.size() <= events_.size());
    const std::span<Event> room =
        std::span(events_).first(std::max(events_per_wait, changes_.size()));
    const timespec limit = to_timespec(wait);
    const int count = queue_->exchange(changes_, room, wait < Duration::zero() ? nullptr : &limit);
    changes_.clear();  // an interrupted call has taken them as well
    return count;
}

int KqueuePoller::wait(std::span<Ready> out, Duration wait) {
    if (has_room_for_changes()) {
        collect_changes();
    } else {
        refused_ = true;  // they wait for the next turn, which comes soon
    }
    if (std::exchange(refused_, false)) {
        wait =
            wait < Duration::zero() ? kqueue_retry_interval : std::min(wait, kqueue_retry_interval);
    }
    int told = 0;
    woken_ = false;
    for (;;) {
        const int count = exchange(wait);
        if (count < 0) return count;
        // A call that refuses changes brings no events. Refused deletions are no reason to end the
        // wait.
        if (!read_events(count, out, told) || told > 0 || woken_) return told;
    }
}

bool KqueuePoller::read_events(int count, std::span<Ready> out, int& told) {
    bool refusals = false;
    for (const Event& event : std::span(events_).first(static_cast<std::size_t>(count))) {
        const bool is_refusal = (event.flags & EV_ERROR) != 0;
        refusals |= is_refusal;
        // EV_CLEAR resets it as it is read, so there is no descriptor to drain.
        if (event.filter == EVFILT_USER) {
            woken_ = true;
            continue;
        }
        Ready ready;
        if (is_refusal ? !read_refusal(event, ready) : !read_event(event, ready)) continue;
        // Events without room are reported again, because every filter is level-triggered.
        if (static_cast<std::size_t>(told) < out.size()) {
            out[static_cast<std::size_t>(told++)] = ready;
        }
    }
    return refusals;
}

// False: a deletion of what was gone already, or (data 0) no refusal at all.
bool KqueuePoller::read_refusal(const Event& refusal, Ready& out) {
    const auto fd = static_cast<int>(refusal.ident);
    State& owner = state(fd);
    const bool is_read = refusal.filter == EVFILT_READ;
    bool& told = is_read ? owner.told.readable : owner.told.writable;
    // Data is the errno of the change, 0 for one that succeeded.
    if (refusal.data == 0 || !told) return false;
    told = false;
    refused_ = true;
    list(fd, owner);
    out = {.fd = fd,
           .generation = owner.generation,
           .readable = is_read,
           .writable = !is_read,
           .failed = true};
    return true;
}

bool KqueuePoller::read_event(const Event& event, Ready& out) {
    const auto fd = static_cast<int>(event.ident);
    const State& owner = state(fd);
    const bool is_read = event.filter == EVFILT_READ;
    const bool told = is_read ? owner.told.readable : owner.told.writable;
    if (!told || generation_of(event) != owner.generation) {
        // Its descriptor is gone; a level-triggered filter would be reported for ever.
        // Without room for the change it is reported once more before it is deleted.
        if (changes_.size() < std::min(changes_.capacity(), events_.size())) {
            changes_.push_back(change(fd, event.filter, EV_DELETE, 0));
        }
        return false;
    }
    // With EV_EOF a read filter may still have bytes to read, and a write filter fails in the
    // call; only an error of the socket adds anything to the filter's own meaning.
    out = {.fd = fd,
           .generation = owner.generation,
           .readable = is_read,
           .writable = !is_read,
           .failed = (event.flags & EV_EOF) != 0 && event.fflags != 0};
    return true;
}

}  // namespace

std::unique_ptr<Poller> make_kqueue_poller(std::unique_ptr<KernelQueue> queue) {
    return std::make_unique<KqueuePoller>(std::move(queue));
}

}  // namespace tiderace::core
