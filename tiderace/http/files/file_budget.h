// Internal. FileBudget: the memory and descriptors of all files of one loop: the files in its
// cache, and dropped files that are still being sent. A peer that reads slowly keeps a file for as
// long as it likes, and over HTTP/2 many at once.
//
// Descriptors are shared by connection: one may hold a quarter as many as are still free, and one
// at least, so that connections that take all they can, one after the other, leave some to
// newcomers. When none is left, each connection that holds nothing may still have one small file in
// memory.
//
// Owner    Shared by the handler and its files.
// Thread   The loop's.
// Errors   A Place is none when there is no room: a file is then sent from its descriptor, and one
//          that would need another descriptor cannot be sent.
// Limits   FileBudgetLimits, and beyond bytes_max a small file for each connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/slot_map.h"
#include "tiderace/base/units.h"
#include "tiderace/core/shared.h"

namespace tiderace::http::files {

struct FileBudgetLimits {
    std::uint64_t bytes_max = 128_MiB;  // of files in memory
    std::size_t open_max = 4096;        // descriptors; more are EMFILE, which is answered 503
};

class FileBudget final : public core::Shared {
  public:
    static constexpr std::size_t free_part = 4;

    // The share of one file, for as long as this exists.
    class Place {
      public:
        Place() = default;  // in no budget: unbounded
        Place(Place&& other) noexcept
            : room_(std::move(other.room_)), bytes_(other.bytes_), holder_(other.holder_) {}
        Place& operator=(Place&&) = delete;
        ~Place() {
            if (room_) room_->give_back(bytes_, holder_);
        }

      private:
        friend class FileBudget;
        Place(FileBudget& room, std::optional<std::uint64_t> bytes, std::uint64_t holder)
            : room_(&room), bytes_(bytes), holder_(holder) {}

        core::Ref<FileBudget> room_;
        std::optional<std::uint64_t> bytes_;  // none: a descriptor
        std::uint64_t holder_ = 0;            // 0: counted against no connection
    };

    explicit FileBudget(const FileBudgetLimits& limits) : limits_(limits) {}

    // Bytes beyond a lower limit are given back in time.
    void set_limits(const FileBudgetLimits& limits) { limits_ = limits; }

    // The connection (Request::connection) whose request the next places are for; 0: none.
    void set_asker(SlotId connection) {
        asker_ = std::uint64_t{connection.generation} << 32 | connection.slot;
    }

    std::optional<Place> place_in_memory(std::uint64_t bytes) {
        if (bytes_ >= limits_.bytes_max || bytes > limits_.bytes_max - bytes_) return std::nullopt;
        bytes_ += bytes;
        return Place(*this, bytes, 0);
    }
    std::optional<Place> place_for_descriptor() {
        if (open_ >= limits_.open_max) return std::nullopt;
        const std::size_t free = limits_.open_max - open_;
        if (held_by_asker() > 0 && held_by_asker() >= free / free_part) return std::nullopt;
        hold();
        ++open_;
        return Place(*this, std::nullopt, asker_);
    }
    // For a small file, although there is no room: once for a connection that holds nothing else.
    std::optional<Place> place_to_spare(std::uint64_t bytes) {
        if (asker_ == 0 || held_by_asker() > 0) return std::nullopt;
        hold();
        bytes_ += bytes;
        return Place(*this, bytes, asker_);
    }

    std::uint64_t bytes() const { return bytes_; }
    std::size_t open() const { return open_; }

  private:
    std::size_t held_by_asker() const {
        const auto held = asker_ != 0 ? held_.find(asker_) : held_.end();
        return held != held_.end() ? held->second : 0;
    }
    void hold() {
        if (asker_ != 0) ++held_[asker_];
    }
    void give_back(std::optional<std::uint64_t> bytes, std::uint64_t holder) {
        TR_CHECK(bytes ? bytes_ >= *bytes : open_ > 0, "more was given back than was taken");
        if (bytes) {
            bytes_ -= *bytes;
        } else {
            --open_;
        }
        if (holder == 0) return;
        const auto held = held_.find(holder);
        TR_CHECK(held != held_.end(), "a connection gave back more than it held");
        if (--held->second == 0) held_.erase(held);
    }

    FileBudgetLimits limits_;
    std::uint64_t bytes_ = 0;
    std::size_t open_ = 0;
    std::uint64_t asker_ = 0;
    std::unordered_map<std::uint64_t, std::size_t> held_;  // places that count, by connection
};

}  // namespace tiderace::http::files
