// DescriptorTable: what a backend knows of each descriptor, by its number.
//
// An Entry has an `observer` (nullptr: the number is free) and a `generation`, which counts the
// number's users, so that a handle of an earlier one finds nothing.
//
// Owner    A backend. References to entries are good until the next add().
// Thread   The loop's.
// Memory   An Entry for each number up to the highest that was added, for good.
#pragma once

#include <cerrno>
#include <cstdint>
#include <new>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/base/result.h"
#include "tiderace/core/backend.h"

namespace tiderace::core {

// Room for a descriptor's entry, and for some of the next: numbers are given out from below.
template <typename Entry>
void grow_for(std::vector<Entry>& by_number, std::size_t number) {
    if (number >= by_number.size()) by_number.resize(number + number / 4 + 64);
}

template <typename Entry>
class DescriptorTable {
  public:
    // Fails without memory, and never throws: callers own a descriptor that nothing else closes.
    Result<IoHandle> add(int fd, IoObserver& observer) {
        TR_CHECK(fd >= 0);
        const auto number = static_cast<std::size_t>(fd);
        try {
            grow_for(entries_, number);
        } catch (const std::bad_alloc&) {
            return fail({ENOMEM, "watch", "a socket"});  // short texts do not allocate
        }
        Entry& fresh = entries_[number];
        TR_CHECK(fresh.observer == nullptr, "attached twice");
        // The kernel gives a number out again at once; what still names its earlier user misses by
        // this.
        const std::uint32_t generation = fresh.generation + 1;
        fresh = Entry{.observer = &observer, .generation = generation};
        return IoHandle{fd, generation};
    }

    // nullptr: closed, or another's by now.
    Entry* find(IoHandle handle) {
        const auto number = static_cast<std::size_t>(handle.fd);
        if (handle.fd < 0 || number >= entries_.size()) return nullptr;
        Entry& found = entries_[number];
        const bool same = found.observer != nullptr && found.generation == handle.generation;
        return same ? &found : nullptr;
    }

    Entry& at(IoHandle handle) {
        Entry* const found = find(handle);
        TR_CHECK(found != nullptr, "a handle that was closed");
        return *found;
    }

    // For a search of all: each number below size() may have a handle that find() knows.
    std::size_t size() const { return entries_.size(); }
    IoHandle handle_of(std::size_t number) const {
        return {static_cast<int>(number), entries_[number].generation};
    }

    // The handle is empty after this.
    void remove(IoHandle& handle) {
        Entry& gone = at(handle);
        gone = Entry{.generation = gone.generation};
        handle = IoHandle{};
    }

  private:
    std::vector<Entry> entries_;
};

}  // namespace tiderace::core
