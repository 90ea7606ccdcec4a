// SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104): for the names of sessions in their store, for
// signed cookies, and for the digests of uploads. Not for passwords, which need a slow hash.
//
//   Sha256Message message;
//   while (auto piece = co_await body.next()) message.add(*piece);
//   if (message.end() != expected) …
//
// Thread   Any: pure functions; one thread at a time for one Sha256Message.
// Memory   Sha256Message: 120 bytes. The functions: none.
// Keywords: SHA-256, HMAC
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tiderace/base/bytes.h"
#include "tiderace/base/hash_blocks.h"

namespace tiderace::http::wire {

using Sha256 = std::array<std::uint8_t, 32>;

// A message that comes in pieces.
class Sha256Message {
  public:
    static constexpr std::size_t block_bytes = HashBlocks::bytes;

    void add(ByteView bytes);
    // The hash of all of it. Nothing may be called afterwards.
    Sha256 end();

  private:
    void absorb(const unsigned char* block);

    HashBlocks blocks_;
    std::array<std::uint32_t, 8> state_{0x6A09E667U, 0xBB67AE85U, 0x3C6EF372U, 0xA54FF53AU,
                                        0x510E527FU, 0x9B05688CU, 0x1F83D9ABU, 0x5BE0CD19U};
};

Sha256 sha256(ByteView bytes);

// The HMAC of `first` followed by `second`.
Sha256 hmac_sha256(ByteView key, ByteView first, ByteView second = {});

}  // namespace tiderace::http::wire
