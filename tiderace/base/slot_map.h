// Internal. SlotMap: objects with addresses that never move and ids that are never reused while
// held.
//
//   chunk 0 [ slot slot … ]  chunk 1 [ slot slot … ]      a freed slot goes on a free list;
//   id = slot number + generation                         its generation grows, so old ids miss
//
// Owner    Owns what it holds. Borrowers keep a SlotId and ask again; a dead id gives nullptr.
// Thread   One; not synchronised.
// Memory   Chunks of `chunk_slots` objects, kept for reuse until the map dies; 8 bytes a slot more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/base/check.h"

namespace tiderace {

struct SlotId {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;  // odd: taken; 0 is never a live id

    bool operator==(const SlotId&) const = default;
    explicit operator bool() const { return generation != 0; }
};

template <typename T, std::size_t chunk_slots = 64>
class SlotMap {
  public:
    SlotMap() = default;
    SlotMap(const SlotMap&) = delete;
    SlotMap& operator=(const SlotMap&) = delete;
    ~SlotMap() {
        for_each([this](SlotId id, T&) { erase(id); });
    }

    // Makes a T in a free slot. The constructor gets its own id first when it takes one.
    template <typename... Args>
    T& emplace(Args&&... args) {
        if (free_ == none) grow();
        const std::uint32_t number = free_;
        Slot& slot = at(number);
        // Taken first, because a constructor may make others here, and free again if it throws:
        // nothing may find, or destroy, what was never made.
        free_ = slot.next_free;
        ++slot.generation;
        ++size_;
        Undo undo{*this, number};
        const SlotId id{number, slot.generation};
        T* made = nullptr;
        if constexpr (std::is_constructible_v<T, SlotId, Args...>) {
            made = ::new (slot.storage) T(id, std::forward<Args>(args)...);
        } else {
            made = ::new (slot.storage) T(std::forward<Args>(args)...);
        }
        undo.wanted = false;
        return *made;
    }

    T* find(SlotId id) {
        if (id.slot >= capacity() || (id.generation & 1) == 0) return nullptr;
        Slot& slot = at(id.slot);
        return slot.generation == id.generation ? slot.value() : nullptr;
    }

    // The id must be live.
    void erase(SlotId id) {
        T* value = find(id);
        TR_CHECK(value != nullptr, "erase of a dead id");
        value->~T();
        release(id.slot);
    }

    // Calls f(id, object) for each; f may erase the object it is given, and no other.
    template <typename F>
    void for_each(F&& f) {
        for (std::uint32_t number = 0; number < capacity(); ++number) {
            Slot& slot = at(number);
            if ((slot.generation & 1) != 0) f(SlotId{number, slot.generation}, *slot.value());
        }
    }

    std::size_t size() const { return size_; }
    std::size_t capacity() const { return chunks_.size() * chunk_slots; }

  private:
    struct Slot {
        std::uint32_t generation = 0;
        std::uint32_t next_free = 0;
        alignas(T) unsigned char storage[sizeof(T)];

        T* value() { return std::launder(reinterpret_cast<T*>(storage)); }
    };
    struct Undo {
        ~Undo() {
            if (wanted) map.release(number);
        }
        SlotMap& map;
        std::uint32_t number;
        bool wanted = true;
    };
    static constexpr std::uint32_t none = UINT32_MAX;

    Slot& at(std::uint32_t number) { return chunks_[number / chunk_slots][number % chunk_slots]; }

    void release(std::uint32_t number) {
        Slot& slot = at(number);
        ++slot.generation;
        slot.next_free = free_;
        free_ = number;
        --size_;
    }

    void grow() {
        const auto first = static_cast<std::uint32_t>(capacity());
        chunks_.push_back(std::make_unique_for_overwrite<Slot[]>(chunk_slots));
        for (std::uint32_t i = 0; i < chunk_slots; ++i) {
            chunks_.back()[i].next_free = i + 1 < chunk_slots ? first + i + 1 : none;
        }
        free_ = first;
    }

    std::vector<std::unique_ptr<Slot[]>> chunks_;
    std::uint32_t free_ = none;
    std::size_t size_ = 0;
};

}  // namespace tiderace
