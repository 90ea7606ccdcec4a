// H2FileFrames: the frames in a connection's queue that hold bytes of a file: DATA whose length is
// announced before all of it was read.
//
//   queue   ...[ HEADERS ][ DATA | file ][ DATA ][ DATA | file ]
//                                       ^ 1                   ^ 3    where they end, and the stream
//
// Owner    The connection, from the first file that it sends.
// Thread   One at a time.
// Limits   frames_max in the queue: has_room() first. The queue holds 128 KiB in frames of 16 KiB,
//          so only a peer whose windows are very small makes the connection wait for one to leave.
// Memory   520 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tiderace/base/check.h"

namespace tiderace::http {

class H2FileFrames {
  public:
    static constexpr std::size_t frames_max = 32;

    struct Frame {
        std::uint64_t end = 0;  // in bytes since the connection began; 0: none
        std::uint32_t bytes = 0;
        std::uint32_t stream = 0;
    };

    // Whether another may be added, if the queue begins at `at`: bytes before it have left.
    bool has_room(std::uint64_t at) const { return frames_[next_].end <= at; }
    // Adds the newest, of a queue that begins at `at`.
    void add(const Frame& frame, std::uint64_t at) {
        TR_CHECK(has_room(at), "more frames with bytes of files than the queue may hold");
        frames_[next_] = frame;
        next_ = (next_ + 1) % frames_.size();
    }
    // The one that holds the byte at `at`, or nullptr.
    const Frame* find(std::uint64_t at) const {
        for (const Frame& frame : frames_) {
            if (frame.end > at && frame.end - at <= frame.bytes) return &frame;
        }
        return nullptr;
    }
    // The one that ends at `from`, if there is one, now ends at `to`; 0: it is removed.
    void move(std::uint64_t from, std::uint64_t to) {
        for (Frame& frame : frames_) {
            if (frame.end == from) frame.end = to;
        }
    }

  private:
    std::array<Frame, frames_max> frames_{};
    std::size_t next_ = 0;
};

}  // namespace tiderace::http
