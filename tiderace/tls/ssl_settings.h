// ssl_settings: the protocol versions, ciphers and groups that both sides of this library speak.
//
// TLS 1.2 and 1.3; AEAD and forward secrecy only (RFC 9325); X25519, P-256, P-384, and the
// post-quantum X25519MLKEM768 where OpenSSL has it (3.5).
// Thread   Any.
// Errors   OpenSSL refuses a setting; a protocol name of no or over 255 bytes.
// Keywords: cipher suites, curves, TLS 1.2, TLS 1.3
#pragma once

#include <string>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"
#include "tiderace/tls/openssl.h"

namespace tiderace::tls {

Result<> apply_settings(SSL_CTX* context);

// Trusts the authorities in `pem`, a file's text, the name of each goes
// to `names` if there is such a list. An error for a text with none. From memory, because the file
// may be one that only our opener can read (read_file.h), and another one when it is read again.
Result<> trust_authorities(SSL_CTX* context, const std::string& file, std::string_view pem,
                           STACK_OF(X509_NAME) * names = nullptr);

// Whether the certificate that the session's peer showed, if any, has ended. Resumption verifies
// none, and each resumed handshake gives another ticket: without this there would be no end.
bool outlives_its_certificate(SSL_SESSION* session, UnixSeconds now);

// {"h2", "http/1.1"} as ALPN writes it: each with its length before it.
Result<std::string> alpn_bytes(const std::vector<std::string>& protocols);

}  // namespace tiderace::tls
