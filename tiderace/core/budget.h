// Internal. Budget: one bound for what a loop keeps for peers that are slow, and one rule for which
// peer goes when it is passed: the one that takes most, and never the newcomer because it is new.
//
//   grow_to() -> within the bound -> held; above half of it is_scarce()
//            \-> above -> refuse() of holders, until a sixteenth of the bound is free
//
// The rule (choose_to_go):
//
//   an untrusted peer goes before a trusted one (that has authenticated itself)
//   the client that holds most goes first: an IPv4 address, or a /64 of IPv6; each peer of a Unix
//     socket is a client of its own
//   of its holdings, the largest, and of equal ones the oldest
//   what waits for a peer to take it counts for less in its first tenth of a second
//
// Owner    Its maker, which sets the bound, and every Holder: a task may keep unreceived bytes
//          after its socket and the service have ended.
// Thread   The loop's.
// Errors   A line of the log names the refused peer, at most one each second.
// Keywords: memory limit, slow client, overload, back-pressure
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/thread_role.h"
#include "tiderace/base/units.h"
#include "tiderace/core/address.h"
#include "tiderace/core/send_queue.h"
#include "tiderace/core/shared.h"

namespace tiderace::core {

class EventLoop;

// The peers that a shared limit counts as one client.
class ClientKey {
  public:
    ClientKey() = default;  // one of its own
    explicit ClientKey(const Address& peer);

    bool is_alone() const { return !is_known_; }
    auto operator<=>(const ClientKey&) const = default;

  private:
    Address::Ip ip_{};
    bool is_known_ = false;
};

struct Claim {
    std::uint64_t bytes = 0;
    Duration age{};  // how long its peer could have taken it
    ClientKey client;
    bool trusted = false;
};

// The claims that go so that `wanted` bytes are free, as indices of `claims`, in this order.
std::vector<std::size_t> choose_to_go(std::span<const Claim> claims, std::uint64_t wanted);

class Budget final : public Shared {
  public:
    class Holder : private ListHook {
      public:
        Holder() = default;
        Holder(Ref<Budget> budget, const Address& peer) { join(std::move(budget), peer); }
        virtual ~Holder() { shrink_to(0); }

        // While it holds nothing.
        void join(Ref<Budget> budget, const Address& peer);
        void set_trusted(bool trusted) { trusted_ = trusted; }
        const ClientKey& client() const { return client_; }
        // It holds so many bytes now. refuse() of any may be called, also of this one. One that has
        // joined none counts nothing.
        void grow_to(std::size_t bytes) TR_ON_LOOP;
        void shrink_to(std::size_t bytes);

      private:
        friend class Budget;
        template <typename T>
        friend class tiderace::IntrusiveList;

        // Drops the held bytes, calls shrink_to(), and ends their purpose, without calling the
        // application. May destroy this holder and others.
        virtual void refuse() TR_ON_LOOP = 0;

        Ref<Budget> budget_;
        std::size_t bytes_ = 0;
        Instant since_{};
        ClientKey client_;
        bool trusted_ = false;
    };

    // `name`: of what is held, for the log; a literal.
    Budget(EventLoop& loop, const char* name, std::size_t bytes_max)
        : loop_(&loop), name_(name), bytes_max_(bytes_max) {}

    std::size_t bytes() const { return bytes_; }
    // Time to push back on peers.
    bool is_scarce() const { return bytes_ > bytes_max_ / 2; }

  private:
    void make_room() TR_ON_LOOP;
    void log_refusals(std::size_t count);

    EventLoop* loop_;
    const char* name_;
    const std::size_t bytes_max_;
    std::size_t bytes_ = 0;
    std::size_t unlogged_ = 0;
    Instant logged_ = Instant::min();
    IntrusiveList<Holder> holders_;  // with bytes, the oldest first
    IntrusiveList<Holder> refused_;  // whose refuse() is to be called
};

// A holder of blocks of a loop's pool, for peers that may be slow to read: a server.
class SendHolder : private ListHook {
  public:
    // The bytes that are held for one peer.
    struct Holding {
        HeldBytes held;
        ClientKey client = {};
        bool trusted = false;
        std::uint64_t id = 0;          // the holder's own
        SendHolder* holder = nullptr;  // filled in by SendEviction
    };

    virtual std::vector<Holding> holdings() TR_ON_LOOP = 0;
    // Frees the memory that is held for this peer, in this turn.
    virtual void give_up(std::uint64_t id) TR_ON_LOOP = 0;

  protected:
    virtual ~SendHolder() = default;

  private:
    template <typename T>
    friend class tiderace::IntrusiveList;
};

// SendEviction: frees memory when a loop's unsent bytes, in blocks and in shared bodies, pass their
// limit (BlockPool): holders are cut until an eighth of the limit is free, in the order of Budget's
// rule (budget.h).
//
// At most a quarter of the limit counts for one holder's shared bodies: a single answer may be
// larger than the limit, and nothing is wrong with it.
//
// Owner    An EventLoop. The holders are borrowed: each leaves the list when it ends.
// Thread   The loop's.
// Limits   The pool's limit, checked once a turn: a turn may pass it by its own output, which is
//          little while it is passed, since writers are pushed back on then (BlockPool::scarce).
class SendEviction {
  public:
    void add(SendHolder& holder) { holders_.push_back(holder); }
    // How many holdings were given up.
    std::size_t evict(const BlockPool& pool) TR_ON_LOOP;

  private:
    IntrusiveList<SendHolder> holders_;
};

}  // namespace tiderace::core
