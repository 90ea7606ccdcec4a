// Dict: a hash table that grows without a pause: it moves one bucket at each operation, and can be
// scanned with a cursor while it changes.
//
//   table 0 [ . x . x ]  ->  table 1 [ . . x . x . . . ]      both, while it grows or shrinks
//
// A scan visits at least once whatever is there from its beginning to its end: the cursor counts
// from the highest bit down, so that buckets which are divided or joined stay on one side of it.
//
// Hash     SipHash-1-3 with a key of the process: clients choose the keys.
// Memory   A node is 48 bytes beside Mapped, and what a key of more than 15 bytes takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "examples/kv/hash_of.h"
#include "tiderace/base/bytes.h"
#include "tiderace/base/random.h"

namespace kv {

using tiderace::ByteView;

template <typename Mapped>
class Dict {
  public:
    struct Node {
        Node(Node* n, std::uint64_t h, ByteView k) : next(n), hash(h), key(k) {}
        Node* next;
        std::uint64_t hash;
        std::string key;
        [[no_unique_address]] Mapped mapped{};
    };

    Dict() = default;
    Dict(const Dict&) = delete;
    Dict& operator=(const Dict&) = delete;
    ~Dict() { clear(); }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

    Node* find(ByteView key) {
        if (size_ == 0) return nullptr;
        return find(key, hash_of(key));
    }
    // The node of the key, and whether it is new.
    std::pair<Node*, bool> insert(ByteView key) {
        const std::uint64_t hash = hash_of(key);
        if (Node* found = size_ > 0 ? find(key, hash) : nullptr) return {found, false};
        step();
        if (!moving() && size_ >= tables_[0].buckets) resize(size_ < 4 ? 4 : 2 * size_);
        Table& table = tables_[moving() ? 1 : 0];
        Node*& head = table.heads[hash & (table.buckets - 1)];
        head = new Node(head, hash, key);
        ++size_;
        return {head, true};
    }
    bool erase(ByteView key) {
        if (size_ == 0) return false;
        const std::uint64_t hash = hash_of(key);
        for (int i = 0; i <= (moving() ? 1 : 0); ++i) {
            Node** at = &tables_[i].heads[hash & (tables_[i].buckets - 1)];
            for (; *at != nullptr; at = &(*at)->next) {
                if ((*at)->hash != hash || (*at)->key != key) continue;
                delete std::exchange(*at, (*at)->next);
                --size_;
                step();
                if (!moving() && tables_[0].buckets > 16 && size_ < tables_[0].buckets / 8) {
                    resize(2 * size_);
                }
                return true;
            }
        }
        return false;
    }
    void clear() {
        for (Table& table : tables_) {
            for (std::size_t i = 0; i < table.buckets; ++i) {
                while (Node* node = table.heads[i])
                    delete std::exchange(table.heads[i], node->next);
            }
            table = Table();
        }
        size_ = 0;
        moved_ = 0;
    }

    // f(node) for each; f must not change the table.
    template <typename F>
    void for_each(F&& f) {
        for (Table& table : tables_) {
            for (std::size_t i = 0; i < table.buckets; ++i) {
                for (Node* node = table.heads[i]; node != nullptr; node = node->next) f(*node);
            }
        }
    }
    // f(node) for each in the cursor's bucket; returns the next cursor, 0 at the end. Begins at 0.
    // f must not change the table.
    template <typename F>
    std::uint64_t scan(std::uint64_t cursor, F&& f) {
        if (size_ == 0) return 0;
        const int small = moving() && tables_[1].buckets < tables_[0].buckets ? 1 : 0;
        const std::uint64_t small_mask = tables_[small].buckets - 1;
        visit(tables_[small], cursor & small_mask, f);
        std::uint64_t mask = small_mask;
        if (moving()) {
            // In the large table, all buckets that the small one's is divided into.
            mask = tables_[1 - small].buckets - 1;
            do {
                visit(tables_[1 - small], cursor & mask, f);
                cursor = after(cursor, mask);
            } while ((cursor & (small_mask ^ mask)) != 0);
            return cursor;
        }
        return after(cursor, mask);
    }
    // Any, each as likely as any other. There is at least one.
    // A bucket and a place in it are chosen until a node is there: a node of any bucket with some
    // would favour nodes that stand alone. 8 to 24 tries, or 64 after many were erased.
    Node& random(tiderace::Random& random) {
        // With about one node in a bucket a ninth is there once in a million buckets.
        for (std::uint64_t places = 8;;) {
            const std::uint64_t buckets = tables_[0].buckets;
            const std::uint64_t chosen = random.below((buckets + tables_[1].buckets) * places);
            const std::uint64_t at = chosen / places;
            Node* node = at < buckets ? tables_[0].heads[at] : tables_[1].heads[at - buckets];
            Node* found = nullptr;
            std::uint64_t length = 0;
            for (; node != nullptr; node = node->next) {
                if (length++ == chosen % places) found = node;
            }
            if (length <= places && found != nullptr) return *found;
            if (length > places) places = length;  // all over again: there were too few
        }
    }

  private:
    struct Table {
        std::unique_ptr<Node*[]> heads;
        std::size_t buckets = 0;  // a power of two, or none
    };

    bool moving() const { return tables_[1].buckets != 0; }

    Node* find(ByteView key, std::uint64_t hash) {
        for (int i = 0; i <= (moving() ? 1 : 0); ++i) {
            Node* node = tables_[i].heads[hash & (tables_[i].buckets - 1)];
            for (; node != nullptr; node = node->next) {
                if (node->hash == hash && node->key == key) return node;
            }
        }
        return nullptr;
    }
    void resize(std::size_t wanted) {
        std::size_t buckets = 4;
        while (buckets < wanted) buckets *= 2;
        if (buckets == tables_[0].buckets) return;
        Table table{std::make_unique<Node*[]>(buckets), buckets};
        tables_[size_ == 0 ? 0 : 1] = std::move(table);
        moved_ = 0;
    }
    // Moves the next bucket that holds something.
    void step() {
        if (!moving()) return;
        constexpr int empty_buckets_max = 16;
        for (int i = 0; i < empty_buckets_max && moved_ < tables_[0].buckets; ++i) {
            Node* node = std::exchange(tables_[0].heads[moved_++], nullptr);
            if (node == nullptr) continue;
            while (node != nullptr) {
                Node* next = node->next;
                Node*& head = tables_[1].heads[node->hash & (tables_[1].buckets - 1)];
                node->next = std::exchange(head, node);
                node = next;
            }
            break;
        }
        if (moved_ < tables_[0].buckets) return;
        tables_[0] = std::exchange(tables_[1], Table());
    }
    template <typename F>
    static void visit(Table& table, std::uint64_t bucket, F&& f) {
        for (Node* node = table.heads[bucket]; node != nullptr; node = node->next) f(*node);
    }
    // Counts in the mask's bits from the highest down; those above it are set, and so carry.
    static std::uint64_t after(std::uint64_t cursor, std::uint64_t mask) {
        std::uint64_t bit = (mask + 1) >> 1;
        for (cursor &= mask; (cursor & bit) != 0; bit >>= 1) cursor ^= bit;
        return cursor | bit;
    }

    Table tables_[2];
    std::size_t size_ = 0;
    std::size_t moved_ = 0;  // buckets of table 0 that are empty by now
};

}  // namespace kv
