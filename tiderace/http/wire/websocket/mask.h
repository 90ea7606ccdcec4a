// Internal. WebSocket masking (RFC 6455, 5.3): every byte of a client's payload is XORed with one
// of four key bytes, in turn. Sixteen bytes at a time with SSE2 or NEON, eight elsewhere.
//
// Thread   Any: pure functions.
// Memory   None.
#pragma once

#include <array>
#include <cstddef>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

// The four key bytes, the one that the next payload byte meets first.
struct WebSocketMask {
    std::array<unsigned char, 4> key{};

    // As it stands `bytes` further on.
    WebSocketMask after(std::size_t bytes) const {
        return {{key[bytes % 4], key[(bytes + 1) % 4], key[(bytes + 2) % 4], key[(bytes + 3) % 4]}};
    }
    bool operator==(const WebSocketMask&) const = default;
};

// Masks and unmasks: the same. Writes bytes.size() bytes to `out`, which is `bytes` itself or does
// not overlap it.
void apply_websocket_mask(ByteView bytes, WebSocketMask mask, char* out);

}  // namespace tiderace::http::wire
