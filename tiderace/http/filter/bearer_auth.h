// Internal. BearerAuth: asks for a token (RFC 6750) before anything behind it is reached.
//
//   Authorization: Bearer TOKEN -> verify(token) -> pass, or 401 with WWW-Authenticate
//
// Owner    The program; one per loop.
// Thread   The loop's: `verify` must not block. One that has to wait is a middleware of its own.
// Errors   401: none, malformed, or not known.
// Limits   token_bytes_max.
// Keywords: 401, token, JWT
#pragma once

#include <string>

#include "tiderace/base/shared_function.h"
#include "tiderace/http/stages.h"

namespace tiderace::http::filter {

struct BearerAuthOptions {
    // Should compare in constant time: see equals_in_constant_time (base/constant_time.h).
    shared_function<bool(ByteView token)> verify;
    std::string realm = "restricted";  // no control characters, quotes or backslashes
};

class BearerAuth final : public AccessRule {
  public:
    static constexpr std::size_t token_bytes_max = 4096;

    explicit BearerAuth(BearerAuthOptions options);

    Verdict check(Exchange& exchange) override;

  private:
    BearerAuthOptions options_;
};

// The token of an Authorization field; "": none, or not one (RFC 6750 2.1: b64token).
ByteView bearer_token(ByteView authorization);

}  // namespace tiderace::http::filter
