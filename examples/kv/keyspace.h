// Keyspace: all keys, with their times of expiry and the order of their use.
//
// A key whose time has come is gone for every reader; a command that looks it up removes it, or
// expire_some(). While a log is replayed time stands still: its writer logged the removals.
//
// Owner    The server. Entries stay where they are until their key is removed or renamed.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "examples/kv/dict.h"
#include "examples/kv/options.h"
#include "examples/kv/value.h"
#include "tiderace/base/lru_cache.h"
#include "tiderace/base/random.h"

namespace kv {

class Keyspace {
  public:
    // The end of a key that no command removed.
    enum class Loss : std::uint8_t { expired, evicted };

    Keyspace();

    // Called before the key goes.
    void on_loss(std::function<void(ByteView key, Loss)> call) { on_loss_ = std::move(call); }
    // Milliseconds since 1970; 0: time stands still.
    void set_now(std::int64_t now) { now_ = now; }
    std::int64_t now() const { return now_; }
    // Decides evict_one(). The order of use is kept only if it counts; that from before a change of
    // policy is not known.
    void set_eviction(Eviction policy) {
        if (policy != eviction_) change_eviction(policy);
    }

    // nullptr: there is none.
    Entry* find(ByteView key);
    // As find(), but no use: for OBJECT, TTL and the like.
    Entry* peek(ByteView key);
    // In place of what it held, without an expiry.
    Entry& set(ByteView key, Value value);
    bool erase(ByteView key);
    // There is `from`; what `to` held is gone.
    void rename(ByteView from, ByteView to);
    void clear();
    // 0: never.
    void set_expiry(Entry& entry, std::int64_t when);

    std::size_t size() const { return keys_.size(); }
    std::size_t with_expiry() const { return expiries_.size(); }
    // Any key that is there; nullptr: there is none.
    Entry* random();
    // At most `keys_max` of those whose time has come.
    std::size_t expire_some(std::size_t keys_max);
    // A key of the policy's choice. False: there is none that may go.
    bool evict_one();
    // f(entry) for each that has not expired.
    template <typename F>
    void for_each(F&& f) {
        keys_.for_each([&](auto& node) {
            if (!expired(node.mapped)) f(node.mapped);
        });
    }
    template <typename F>
    std::uint64_t scan(std::uint64_t cursor, F&& f) {
        return keys_.scan(cursor, [&](auto& node) {
            if (!expired(node.mapped)) f(node.mapped);
        });
    }

  private:
    bool expired(const Entry& entry) const {
        return entry.expires != 0 && now_ != 0 && entry.expires <= now_;
    }
    void change_eviction(Eviction policy);
    bool orders_use() const {
        return eviction_ == Eviction::allkeys_lru || eviction_ == Eviction::volatile_lru;
    }
    // With volatile-lru, keys that expire are in an order of their own.
    tiderace::LruOrder<Entry>& order_of(const Entry& entry) {
        const bool apart = eviction_ == Eviction::volatile_lru && entry.expires != 0;
        return apart ? expiring_order_ : order_;
    }
    Entry* any_that_expires();
    Entry* next_to_evict();
    void remove(Entry& entry);
    void lose(Entry& entry, Loss loss);

    Dict<Entry> keys_;
    tiderace::LruOrder<Entry> order_;
    tiderace::LruOrder<Entry> expiring_order_;
    std::set<std::pair<std::int64_t, Entry*>> expiries_;
    std::function<void(ByteView, Loss)> on_loss_;
    tiderace::Random random_;
    std::int64_t now_ = 0;
    Eviction eviction_ = Eviction::none;
};

}  // namespace kv
