// Internal. TicketKeys: the keys of session tickets: one for new ones, and those before it, so that
// a ticket outlives the rotation. A value; loops that share it resume each other's sessions.
//
// TicketShare makes a new key from time to time; the context of each loop fetches it.
//
// Owner    TicketKeys: copied at will. TicketShare: its contexts.
// Thread   Any.
// Errors   A machine without randomness to give.
// Limits   keys_max; the oldest is dropped, and its tickets are no longer accepted.
// Keywords: session tickets, resumption
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"

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

}  // namespace tiderace::tls
