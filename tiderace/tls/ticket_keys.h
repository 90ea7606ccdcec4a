// Internal. TicketKeys: the keys of session tickets: one for new ones, and those before it, so that
// a ticket outlives the rotation. A value; loops that share it resume each other's sessions.
//
// TicketRotation makes a new key from time to time and hands it to every loop's context.
// TicketShare has keys that contexts fetch themselves: for loops of which none outlives the others.
//
// Owner    TicketKeys: copied at will. TicketRotation: its loop's side; the targets outlive it.
//          TicketShare: its contexts.
// Thread   TicketRotation: its loop's; targets get new keys by post on theirs. TicketShare: any.
// Errors   A machine without randomness to give.
// Limits   keys_max; the oldest is dropped, and its tickets are no longer accepted.
// Keywords: session tickets, resumption
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/core/event_loop.h"

namespace tiderace::tls {

struct TicketKey {
    std::array<unsigned char, 16> name;
    std::array<unsigned char, 32> cipher_key;
    std::array<unsigned char, 32> mac_key;

    ~TicketKey();  // wipes
};

class TicketKeys {
  public:
    static constexpr std::size_t keys_max = 3;

    // One new key. Fails only when the machine has no randomness to give.
    static Result<std::shared_ptr<const TicketKeys>> fresh();
    // A new key in front of these.
    Result<std::shared_ptr<const TicketKeys>> rotated() const;

    const TicketKey& sealing() const { return keys_.front(); }
    // nullptr: none of that name.
    const TicketKey* find(const unsigned char* name) const;
    std::size_t size() const { return keys_.size(); }

  private:
    std::vector<TicketKey> keys_;  // newest first, never empty
};

class TicketShare final {
  public:
    static constexpr Duration usual_period = 1h;
    // How often a context checks for new keys. A ticket sealed under a key that another context has
    // not fetched yet costs a full handshake there.
    static constexpr Duration look_every = 1s;

    explicit TicketShare(Duration period = usual_period) : period_(period) {}
    TicketShare(const TicketShare&) = delete;
    TicketShare& operator=(const TicketShare&) = delete;

    // The same for all that call it in one period; the first call after it makes a new key. Without
    // randomness or memory the old ones stay, and the first ones are an error.
    Result<std::shared_ptr<const TicketKeys>> keys(Instant now);

  private:
    const Duration period_;
    std::mutex lock_;  // guards the next two
    std::shared_ptr<const TicketKeys> keys_;
    Instant renewed_at_{};
};

class ServerContext;

class TicketRotation final : private core::Timer {
  public:
    struct Target {
        core::EventLoop* loop;
        ServerContext* context;
    };
    static constexpr Duration usual_period = TicketShare::usual_period;

    // Rotates on `loop` every `period`, and hands `first` out now.
    TicketRotation(core::EventLoop& loop, std::vector<Target> targets,
                   std::shared_ptr<const TicketKeys> first, Duration period = usual_period);
    ~TicketRotation();

    void rotate_now() TR_ON_LOOP;

  private:
    void on_expired() TR_ON_LOOP override;
    void hand_out();

    core::EventLoop* loop_;
    std::vector<Target> targets_;
    std::shared_ptr<const TicketKeys> keys_;
    Duration period_;
};

}  // namespace tiderace::tls
