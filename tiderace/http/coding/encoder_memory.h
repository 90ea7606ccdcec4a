// EncoderMemory: what an encoder's library allocates, counted, and kept for its next stream.
//
// Brotli can only be made anew for each stream, and makes the same few allocations each time: what
// it gives back stays here and is what it gets next.
//
// Owner    One encoder, which it outlives.
// Thread   The encoder's.
// Limits   kept_bytes_max of blocks that are not in use.
#pragma once

#include <cstddef>
#include <vector>

#include "tiderace/base/units.h"

namespace tiderace::http::coding {

class EncoderMemory {
  public:
    static constexpr std::size_t kept_bytes_max = 1280_KiB;

    EncoderMemory() = default;
    EncoderMemory(const EncoderMemory&) = delete;
    EncoderMemory& operator=(const EncoderMemory&) = delete;
    // All was given back.
    ~EncoderMemory();

    // nullptr: there is none.
    void* take(std::size_t bytes);
    void give_back(void* memory);

    // In use and kept.
    std::size_t bytes() const { return used_bytes_ + kept_bytes_; }
    std::size_t used_bytes() const { return used_bytes_; }

  private:
    struct Block;

    std::vector<Block*> kept_;
    std::size_t used_bytes_ = 0;
    std::size_t kept_bytes_ = 0;
};

}  // namespace tiderace::http::coding
