// StandInQueue: kevent(2) where there is no kqueue, so that the logic of core/backend/kqueue.cc
// runs on every machine. As the manual pages of FreeBSD and macOS have it:
//
//   changes first, in order; a refused one, or one with EV_RECEIPT, is reported as EV_ERROR if
//   there is room, and then the call brings no events; without room the call fails and the rest is
//   undone closing a descriptor deletes its filters; adding again replaces udata and looks anew
//   EV_EOF with what is left to read still counted in data, the socket's error in fflags EV_CLEAR
//   says a thing once until it changed, EV_ONESHOT once; EVFILT_USER by NOTE_TRIGGER an interrupted
//   call has taken its changes
//
// Stricter than they: a filter of another kind is EINVAL. Poorer: the backlog of a listener counts
// 1, an error in fflags is ECONNRESET whatever it was, and a thing that went and came back between
// two looks does not count as a change for EV_CLEAR.
//
// Thread   The loop's; others may give changes without room for events, as for a real one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "tiderace/core/backend/kqueue.h"
#include "tiderace/core/backend/waker.h"
#include "tiderace/testing/fake/wait.h"

namespace tiderace::testing {

class StandInQueue : public core::KernelQueue {
  public:
    StandInQueue();
    ~StandInQueue() override;

    int exchange(std::span<const struct kevent> changes, std::span<struct kevent> events,
                 const timespec* wait_max) final;

    // How many filters there are; for tests.
    std::size_t filters() const;

  protected:
    // One direction of a descriptor.
    struct Side {
        bool ready = false;
        std::int64_t data = 0;
        bool eof = false;
        std::uint32_t error = 0;
    };
    using Key = std::pair<std::uintptr_t, short>;  // ident, filter

    // Tells two descriptors apart that have the same number one after the other. nullopt: not open.
    virtual std::optional<std::uint64_t> identity(int fd) = 0;
    virtual Side look_at(int fd, bool writing) = 0;
    // Calls `look` until it finds something, or the time is over (negative: never). Returns what it
    // found last, or -EINTR. `watched` are filters of descriptors.
    virtual int wait(Duration wait, const std::function<int()>& look) = 0;
    // Ends a wait() that is under way: something became ready by a change.
    virtual void poke() = 0;

    // Calls `each(fd, writing)` for all filters that are enabled.
    void for_each_watched(const std::function<void(int, bool)>& each);

  private:
    struct Filter;

    int apply(const struct kevent& change);
    int apply_to_descriptor(const struct kevent& change);
    bool is_gone(const Key& key, const Filter& filter);
    int collect(std::span<struct kevent> events);
    bool tell(const Key& key, Filter& filter, struct kevent& event);

    mutable std::mutex lock_;
    std::map<Key, Filter> filters_;
    Key start_after_{};  // where the last collection ended, so that everybody has a turn
};

// Over the machine's own descriptors, by poll(2).
class PolledQueue final : public StandInQueue {
  protected:
    std::optional<std::uint64_t> identity(int fd) override;
    Side look_at(int fd, bool writing) override;
    int wait(Duration wait, const std::function<int()>& look) override;
    void poke() override { waker_.wake(); }

  private:
    core::Waker waker_;
};

// Over the fake network, under its clock and with its faults.
class FakeQueue final : public StandInQueue {
  public:
    FakeQueue(FakeNetwork& network, FakeWait& waiting) : network_(&network), waiting_(&waiting) {}

  protected:
    std::optional<std::uint64_t> identity(int fd) override;
    Side look_at(int fd, bool writing) override;
    int wait(Duration wait, const std::function<int()>& look) override;
    void poke() override {}  // one thread: the next look sees it

  private:
    FakeNetwork* network_;
    FakeWait* waiting_;
};

}  // namespace tiderace::testing
