// H2FileFrames: which of the frames in a connection's queue hold bytes of a file: DATA whose length
// is announced before all of it was read.
//
//   queue   ...[ HEADERS ][ DATA | file ][ DATA ][ DATA | file ]
//                                       ^ 1                   ^ 3    where they end, and the stream
//
// Owner    The connection, from the first file that it sends.
// Thread   One at a time.
// Limits   frames_max; older ones are forgotten. The queue holds 128 KiB in frames of 16 KiB, so
//          they have left it, unless the peer's windows are so small that the frames are, too.
// Memory   520 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tiderace::http {

class H2FileFrames {
  public:
    static constexpr std::size_t frames_max = 32;

    struct Frame {
        std::uint64_t end = 0;  // in bytes since the connection began; 0: none
        std::uint32_t bytes = 0;
        std::uint32_t stream = 0;
    };

    // The newest.
    void add(const Frame& frame) {
        frames_[next_] = frame;
        next_ = (next_ + 1) % frames_.size();
    }
    // The one that the byte at `at` is in, or nullptr.
    const Frame* find(std::uint64_t at) const {
        for (const Frame& frame : frames_) {
            if (frame.end > at && frame.end - at <= frame.bytes) return &frame;
        }
        return nullptr;
    }
    // The one that ends at `from`, if there is one, ends at `to` now; 0: it is gone.
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
