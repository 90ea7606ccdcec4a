// LruCache: a bounded cache that evicts the least recently used entry; and the order that it is
// built on, for tables of the caller's own.
//
//   LruCache<std::string, Page> pages(64_MiB);
//   pages.put("/", std::move(page), page_bytes);        // may evict others
//   if (Page* page = pages.find("/")) …                 // used now; valid until the next put
//
// Each entry has a cost, in bytes or whatever the bound counts. An entry that costs more than the
// bound is not kept.
//
// Owner    The cache owns its values; LruOrder owns nothing: an object that dies leaves it.
// Thread   One; not synchronised.
// Limits   cost_max.
// Memory   Beside key and value 32 bytes and the table's node; an LruHook is 24.
// Keywords: LRU, eviction
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/intrusive_list.h"

namespace tiderace {

template <typename T>
class LruOrder;

// A base of what an LruOrder orders.
class LruHook : public ListHook {
  public:
    std::size_t cost() const { return cost_; }

  private:
    template <typename T>
    friend class LruOrder;
    std::size_t cost_ = 0;
};

// The order of use, and the sum of the costs. T derives from LruHook.
template <typename T>
class LruOrder {
  public:
    bool empty() const { return list_.empty(); }
    std::size_t cost() const { return cost_; }

    // A new object, used now.
    void add(T& object, std::size_t cost) {
        TR_CHECK(!object.linked(), "it is in an order already");
        hook(object).cost_ = cost;
        cost_ += cost;
        list_.push_back(object);
    }
    // Used now.
    void touch(T& object) {
        hook(object).unlink();
        list_.push_back(object);
    }
    // It costs something else from now on; its place in the order stays.
    void charge(T& object, std::size_t cost) {
        cost_ += cost - hook(object).cost_;
        hook(object).cost_ = cost;
    }
    // Before the object dies, so that its cost is taken off.
    void remove(T& object) {
        cost_ -= hook(object).cost_;
        hook(object).unlink();
    }
    // The one used longest ago; nullptr: there is none.
    T* oldest() { return list_.empty() ? nullptr : &list_.front(); }

  private:
    static LruHook& hook(T& object) { return object; }

    IntrusiveList<T> list_;
    std::size_t cost_ = 0;
};

template <typename Key, typename Value, typename Hash = std::hash<Key>,
          typename Equal = std::equal_to<>>
class LruCache {
  public:
    using OnEvict = std::function<void(const Key&, Value&)>;

    explicit LruCache(std::size_t cost_max, Hash hash = Hash())
        : cost_max_(cost_max), entries_(0, std::move(hash)) {}
    LruCache(const LruCache&) = delete;
    LruCache& operator=(const LruCache&) = delete;

    // Called for each entry that makes room for another, before it is destroyed. It must not call
    // the cache.
    void on_evict(OnEvict call) { on_evict_ = std::move(call); }

    // nullptr: not there. Otherwise it counts as used now.
    template <typename K>
    Value* find(const K& key) {
        const auto found = entries_.find(key);
        if (found == entries_.end()) return nullptr;
        order_.touch(found->second);
        return &found->second.value;
    }
    template <typename K>
    bool contains(const K& key) const {
        return entries_.find(key) != entries_.end();
    }

    // In place of an older value of the key. nullptr: it costs more than cost_max, and is not kept.
    Value* put(Key key, Value value, std::size_t cost) {
        erase(key);
        if (cost > cost_max_) return nullptr;
        make_room(cost_max_ - cost);
        const auto made = entries_.try_emplace(std::move(key), std::move(value)).first;
        Entry& entry = made->second;
        entry.key = &made->first;
        order_.add(entry, cost);
        return &entry.value;
    }

    template <typename K>
    bool erase(const K& key) {
        const auto found = entries_.find(key);
        if (found == entries_.end()) return false;
        order_.remove(found->second);
        entries_.erase(found);
        return true;
    }
    void clear() {
        while (Entry* entry = order_.oldest()) order_.remove(*entry);
        entries_.clear();
    }

    // A smaller bound evicts at once.
    void set_cost_max(std::size_t cost_max) {
        cost_max_ = cost_max;
        make_room(cost_max);
    }
    std::size_t cost_max() const { return cost_max_; }
    std::size_t cost() const { return order_.cost(); }
    std::size_t size() const { return entries_.size(); }

  private:
    struct Entry : LruHook {
        explicit Entry(Value v) : value(std::move(v)) {}
        Value value;
        const Key* key = nullptr;  // of the table, whose nodes stay where they are
    };

    void make_room(std::size_t cost_left) {
        while (order_.cost() > cost_left) {
            Entry& oldest = *order_.oldest();
            if (on_evict_) on_evict_(*oldest.key, oldest.value);
            order_.remove(oldest);
            entries_.erase(entries_.find(*oldest.key));
        }
    }

    std::size_t cost_max_;
    std::unordered_map<Key, Entry, Hash, Equal> entries_;
    LruOrder<Entry> order_;
    OnEvict on_evict_;
};

}  // namespace tiderace
