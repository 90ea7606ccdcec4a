// SHA-1 (RFC 3174), for the protocols that still ask for it: Sec-WebSocket-Accept (RFC 6455,
// 4.2.2), the names of scripts in Redis, the checksums of uploads (tus). It is no protection of
// anything: never use it for passwords, signatures or keys.
//
// Thread   Any: a pure function; one thread at a time for one Sha1Message.
// Memory   Sha1Message: 104 bytes. The function: none.
// Keywords: SHA-1, Sec-WebSocket-Accept
#pragma once

#include <array>
#include <cstdint>

#include "tiderace/base/bytes.h"
#include "tiderace/base/hash_blocks.h"

namespace tiderace {

using Sha1 = std::array<std::uint8_t, 20>;

// A message that comes in pieces.
class Sha1Message {
  public:
    void add(ByteView bytes);
    // The hash of all of it. Nothing may be called afterwards.
    Sha1 end();

  private:
    void absorb(const unsigned char* block);

    HashBlocks blocks_;
    std::array<std::uint32_t, 5> state_{0x67452301U, 0xEFCDAB89U, 0x98BADCFEU, 0x10325476U,
                                        0xC3D2E1F0U};
};

Sha1 sha1(ByteView bytes);

}  // namespace tiderace
