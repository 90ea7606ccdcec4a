// ssl_settings: the protocol versions, ciphers and groups that both sides of this library speak.
//
// TLS 1.2 and 1.3; AEAD and forward secrecy only (RFC 9325); X25519, P-256, P-384, and the
// post-quantum X25519MLKEM768 where OpenSSL has it (3.5).
// Thread   Any.
// Errors   OpenSSL refuses a setting; a protocol name of no or over 255 bytes.
#pragma once

#include <string>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/tls/openssl.h"

namespace tiderace::tls {

Result<> apply_settings(SSL_CTX* context);

// {"h2", "http/1.1"} as ALPN writes it: each with its length before it.
Result<std::string> alpn_bytes(const std::vector<std::string>& protocols);

}  // namespace tiderace::tls
