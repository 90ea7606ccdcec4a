// SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104): for the names of sessions in their store and
// for signed cookies. Not for passwords, which need a slow hash.
//
// Thread   Any: pure functions.
// Memory   None.
#pragma once

#include <array>
#include <cstdint>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(ByteView bytes);

// Of `first` and `second`, one after the other.
Sha256 hmac_sha256(ByteView key, ByteView first, ByteView second = {});

}  // namespace tiderace::http::wire
