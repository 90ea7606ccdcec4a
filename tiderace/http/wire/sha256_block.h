// One block of SHA-256 (FIPS 180-4, 6.2.2): by the processor's own instructions where it has them,
// otherwise in C++.
//
// Thread   Any: pure functions.
// Memory   None.
#pragma once

#include <array>
#include <cstdint>

namespace tiderace::http::wire {

using Sha256State = std::array<std::uint32_t, 8>;
// Mixes 64 bytes into the state.
using Sha256Absorb = void (*)(Sha256State& state, const unsigned char* block);

void absorb_in_cpp(Sha256State& state, const unsigned char* block);

// nullptr: this processor has no such instructions, or is not an x86-64, the only one we know.
Sha256Absorb absorb_by_instructions();

}  // namespace tiderace::http::wire
