// FileRoom: what all files of one loop take together: those that its cache keeps, and those that it
// has dropped and that are still being sent. A peer that reads slowly keeps a file for as long as
// it likes, and over HTTP/2 many at once.
//
// Owner    Shared by the handler and its files.
// Thread   The loop's.
// Errors   A Place is none where there is no room: a file goes from its descriptor then, and one
//          that would need another descriptor cannot be had.
// Limits   FileRoomLimits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/units.h"
#include "tiderace/core/shared.h"

namespace tiderace::http::handler {

struct FileRoomLimits {
    std::uint64_t bytes_max = 128_MiB;  // of files in memory
    std::size_t open_max = 4096;        // descriptors; more are EMFILE, which is answered 503
};

class FileRoom final : public core::Shared {
  public:
    // What one file takes, for as long as this lives.
    class Place {
      public:
        Place() = default;  // in no room, which is unbounded
        Place(Place&& other) noexcept : room_(std::move(other.room_)), bytes_(other.bytes_) {}
        Place& operator=(Place&&) = delete;
        ~Place() {
            if (room_) room_->give_back(bytes_);
        }

      private:
        friend class FileRoom;
        Place(FileRoom& room, std::optional<std::uint64_t> bytes) : room_(&room), bytes_(bytes) {}

        core::Ref<FileRoom> room_;
        std::optional<std::uint64_t> bytes_;  // none: a descriptor
    };

    explicit FileRoom(const FileRoomLimits& limits) : limits_(limits) {}

    std::optional<Place> place_in_memory(std::uint64_t bytes) {
        if (bytes > limits_.bytes_max - bytes_) return std::nullopt;
        bytes_ += bytes;
        return Place(*this, bytes);
    }
    std::optional<Place> place_for_descriptor() {
        if (open_ >= limits_.open_max) return std::nullopt;
        ++open_;
        return Place(*this, std::nullopt);
    }

    std::uint64_t bytes() const { return bytes_; }
    std::size_t open() const { return open_; }

  private:
    void give_back(std::optional<std::uint64_t> bytes) {
        TR_CHECK(bytes ? bytes_ >= *bytes : open_ > 0, "more was given back than was taken");
        if (bytes) {
            bytes_ -= *bytes;
        } else {
            --open_;
        }
    }

    const FileRoomLimits limits_;
    std::uint64_t bytes_ = 0;
    std::size_t open_ = 0;
};

}  // namespace tiderace::http::handler
