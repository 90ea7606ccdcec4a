// SHA-1 (RFC 3174), for the protocols that still ask for it: Sec-WebSocket-Accept (RFC 6455,
// 4.2.2), and the names of scripts in Redis. It is no protection of anything: never use it for
// passwords, signatures or keys.
//
// Thread   Any: a pure function.
// Memory   None.
#pragma once

#include <array>
#include <cstdint>

#include "tiderace/base/bytes.h"

namespace tiderace {

std::array<std::uint8_t, 20> sha1(ByteView bytes);

}  // namespace tiderace
