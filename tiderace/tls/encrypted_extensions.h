// EncryptedExtensions: the part of a TLS 1.3 server's message of that name (RFC 8446, 4.3.1) that a
// record layer has to know. Every change of records is negotiated there, so a record layer that
// knows every extension in it obeys all that was negotiated.
//
//   08 | length 3 | length 2 | { type 2 | length 2 | … } …
//
// Thread   Any: a pure function.
// Errors   nullopt: an extension that Records13 does not know, or no such message. The connection
//          stays with OpenSSL then.
#pragma once

#include <cstdint>
#include <optional>

#include "tiderace/base/bytes.h"

namespace tiderace::tls {

struct RecordAgreement {
    // Limit of a record's payload, in both directions (max_fragment_length, RFC 6066, 4).
    std::uint16_t payload_bytes_max = 16'384;

    bool operator==(const RecordAgreement&) const = default;
};

// `message` is the whole handshake message, with its type and length.
std::optional<RecordAgreement> read_encrypted_extensions(ByteView message);

}  // namespace tiderace::tls
