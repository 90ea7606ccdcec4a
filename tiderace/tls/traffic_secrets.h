// TrafficSecrets: the secrets that give both directions of a TLS 1.3 connection their keys (RFC
// 8446, 7.1).
//
// Owner    The code that derives keys from it; wiped with it.
// Thread   One at a time.
#pragma once

#include <array>
#include <cstdint>

#include "tiderace/base/bytes.h"

namespace tiderace::tls {

struct TrafficSecrets {
    static constexpr std::size_t bytes_max = 48;  // SHA-384
    using Secret = std::array<unsigned char, bytes_max>;

    Secret client{};
    Secret server{};
    std::size_t bytes = 0;           // of each
    std::uint64_t server_wrote = 0;  // records that were already written with the server's keys
    bool has_client = false;
    bool has_server = false;

    TrafficSecrets() = default;
    TrafficSecrets(const TrafficSecrets&) = default;
    TrafficSecrets& operator=(const TrafficSecrets&) = default;
    ~TrafficSecrets();

    bool complete() const { return has_client && has_server && bytes > 0; }
    // Takes what it needs from a line of a key log: `LABEL client-random secret`, in hexadecimal.
    // True if it was one of the two.
    bool take_line(ByteView line);
};

}  // namespace tiderace::tls
