// Random: a small seeded generator (xoshiro256**) for tests, jitter and hashing seeds. The same
// seed gives the same sequence on every machine. Not for secrets: those come from secure_random.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tiderace/base/language.h"

namespace tiderace {

class Random {
  public:
    explicit Random(std::uint64_t seed);
    // Another sequence each time, seeded from the kernel's generator.
    static Random with_system_seed();

    std::uint64_t next();
    // 0 .. bound - 1, without bias worth naming; bound > 0.
    std::uint64_t below(std::uint64_t bound);
    // True `numerator` times in `denominator`.
    bool chance(std::uint32_t numerator, std::uint32_t denominator) {
        return below(denominator) < numerator;
    }

  private:
    std::array<std::uint64_t, 4> state_;
};

// Fills `out` from the kernel's generator. Any thread. Aborts if the kernel has none.
void secure_random(std::span<unsigned char> out);
// So many of its bytes, at most 32, as hexadecimal digits: a name that cannot be guessed.
std::string random_name(std::size_t bytes);

}  // namespace tiderace
