// SHA-1 (RFC 3174), for the one thing that still asks for it: Sec-WebSocket-Accept (RFC 6455,
// 4.2.2). It is no protection of anything: never use it for passwords, signatures or keys.
//
// Thread   Any: a pure function.
// Memory   None.
#pragma once

#include <array>
#include <cstdint>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

std::array<std::uint8_t, 20> sha1(ByteView bytes);

}  // namespace tiderace::http::wire
