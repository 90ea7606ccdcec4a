#include "examples/kv/keyspace.h"

#include <array>

namespace kv {

std::string_view to_string(Type type) {
    constexpr std::array<std::string_view, 5> names{"string", "list", "hash", "set", "zset"};
    return names[static_cast<std::size_t>(type)];
}

Keyspace::Keyspace() : random_(hash_of("random keys")) {}

// A key whose time has passed is gone for every command, although expire_some() may find it later.
Entry* Keyspace::peek(ByteView key) {
    auto* node = keys_.find(key);
    if (node == nullptr) return nullptr;
    if (expired(node->mapped)) {
        lose(node->mapped, Loss::expired);
        return nullptr;
    }
    return &node->mapped;
}

Entry* Keyspace::find(ByteView key) {
    Entry* entry = peek(key);
    if (entry != nullptr && orders_use()) order_of(*entry).touch(*entry);
    return entry;
}

Entry& Keyspace::set(ByteView key, Value value) {
    const auto [node, is_new] = keys_.insert(key);
    Entry& entry = node->mapped;
    if (is_new) {
        entry.key = &node->key;
        order_.add(entry, 0);  // without an expiry yet, so in this order under every policy
    } else {
        // A key that is set anew lives for ever, unless the command sets an expiry afterwards.
        set_expiry(entry, 0);
        if (orders_use()) order_of(entry).touch(entry);
    }
    entry.value = std::move(value);
    return entry;
}

bool Keyspace::erase(ByteView key) {
    Entry* entry = peek(key);
    if (entry == nullptr) return false;
    remove(*entry);
    return true;
}

void Keyspace::rename(ByteView from, ByteView to) {
    Entry* old = peek(from);
    Value value = std::move(old->value);
    const std::int64_t expires = old->expires;
    // Before set(): both keys may be the same.
    remove(*old);
    set_expiry(set(to, std::move(value)), expires);
}

void Keyspace::clear() {
    // Both lists refer to the entries, so they let them go before these end.
    expiries_.clear();
    keys_.for_each([this](auto& node) { order_of(node.mapped).remove(node.mapped); });
    keys_.clear();
}

void Keyspace::set_expiry(Entry& entry, std::int64_t when) {
    if (entry.expires != 0) expiries_.erase({entry.expires, &entry});
    // The order depends on whether the key expires, so the entry changes over.
    if ((entry.expires == 0) != (when == 0) && eviction_ == Eviction::volatile_lru) {
        order_of(entry).remove(entry);
        entry.expires = when;
        order_of(entry).add(entry, 0);
    }
    entry.expires = when;
    if (when != 0) expiries_.emplace(when, &entry);
}

void Keyspace::remove(Entry& entry) {
    set_expiry(entry, 0);
    order_of(entry).remove(entry);
    keys_.erase(*entry.key);
}

void Keyspace::lose(Entry& entry, Loss loss) {
    // Before the entry goes, because the key is its own.
    if (on_loss_) on_loss_(*entry.key, loss);
    remove(entry);
}

Entry* Keyspace::random() {
    // Most keys of a small table may have expired: those go on the way.
    while (!keys_.empty()) {
        Entry& entry = keys_.random(random_).mapped;
        if (!expired(entry)) return &entry;
        lose(entry, Loss::expired);
    }
    return nullptr;
}

std::size_t Keyspace::expire_some(std::size_t keys_max) {
    std::size_t gone = 0;
    while (gone < keys_max && !expiries_.empty() && expired(*expiries_.begin()->second)) {
        lose(*expiries_.begin()->second, Loss::expired);
        ++gone;
    }
    return gone;
}

void Keyspace::change_eviction(Eviction policy) {
    // Only keys that expire stand in another order under another policy.
    for (const auto& [when, entry] : expiries_) order_of(*entry).remove(*entry);
    eviction_ = policy;
    for (const auto& [when, entry] : expiries_) order_of(*entry).add(*entry, 0);
}

Entry* Keyspace::any_that_expires() {
    // The set of expiries has no random access: a few tries at all keys, then the first to expire.
    constexpr int tries_max = 16;
    for (int i = 0; i < tries_max && !expiries_.empty(); ++i) {
        Entry& entry = keys_.random(random_).mapped;
        if (entry.expires != 0) return &entry;
    }
    return expiries_.empty() ? nullptr : expiries_.begin()->second;
}

Entry* Keyspace::next_to_evict() {
    switch (eviction_) {
        case Eviction::none:
            return nullptr;
        case Eviction::allkeys_lru:
            return order_.oldest();
        case Eviction::volatile_lru:
            return expiring_order_.oldest();
        case Eviction::allkeys_random:
            return keys_.empty() ? nullptr : &keys_.random(random_).mapped;
        case Eviction::volatile_random:
            return any_that_expires();
        case Eviction::volatile_ttl:
            return expiries_.empty() ? nullptr : expiries_.begin()->second;
    }
    return nullptr;
}

bool Keyspace::evict_one() {
    Entry* const chosen = next_to_evict();
    if (chosen == nullptr) return false;
    lose(*chosen, Loss::evicted);
    return true;
}

}  // namespace kv
