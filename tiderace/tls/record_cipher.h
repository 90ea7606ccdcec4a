// RecordCipher: seals or opens the records of one direction of a TLS 1.3 connection (RFC 8446, 5.2
// and 7). The cipher and the key schedule's hash are OpenSSL's.
//
//   [23 3 3 len len] [ciphered: payload, type] [tag 16]     nonce: iv xor the record's number
//
// Owner    Records13.
// Thread   The loop's.
// Errors   std::bad_alloc if there is no memory for a key; records do not allocate.
// Limits   records_per_key_max; worn_out() reports that a new key is due.
// Memory   About 1 KiB: the expanded key.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <span>

#include "tiderace/tls/openssl.h"
#include "tiderace/tls/traffic_secrets.h"

namespace tiderace::tls {

// The cipher and hash of a TLS 1.3 suite.
struct Suite13 {
    const EVP_CIPHER* cipher;
    const EVP_MD* digest;
    std::size_t key_bytes;
    std::size_t secret_bytes;

    // nullptr: a suite that RecordCipher does not support.
    static const Suite13* find(const SSL_CIPHER* negotiated);
};

enum class ContentType : std::uint8_t {
    change_cipher_spec = 20,
    alert = 21,
    handshake = 22,
    application_data = 23
};

class RecordCipher {
  public:
    static constexpr std::size_t header_bytes = 5;
    static constexpr std::size_t tag_bytes = 16;
    static constexpr std::size_t overhead_bytes = header_bytes + 1 + tag_bytes;
    // AES-GCM's limit is 2^24.5 records with a key (RFC 8446, 5.5).
    static constexpr std::uint64_t records_per_key_max = 1U << 24U;

    enum class Direction : std::uint8_t { open, seal };
    RecordCipher(const Suite13& suite, const TrafficSecrets::Secret& secret, Direction direction,
                 std::uint64_t sequence);
    RecordCipher(RecordCipher&&) = default;
    RecordCipher& operator=(RecordCipher&&) = default;
    ~RecordCipher();

    // Writes one record of `bytes` + overhead_bytes to `to`. The payload comes from `pieces`, which
    // may be at to + header_bytes already (one piece, sealed in place).
    void seal(ContentType type, std::span<const iovec> pieces, std::size_t bytes, char* to);
    // Opens the whole record `record` into `to`, which has room for it. Returns the bytes of
    // payload and type; npos: it was damaged.
    std::size_t open(ByteView record, char* to);

    // The next key from this one (KeyUpdate).
    void update();
    bool worn_out() const { return sequence_ >= records_per_key_max; }

  private:
    void key();
    void start_record(const unsigned char* header);

    const Suite13* suite_;
    CipherContextPtr context_;
    TrafficSecrets::Secret secret_;
    std::array<unsigned char, 12> iv_{};
    Direction direction_;
    std::uint64_t sequence_;
};

}  // namespace tiderace::tls
