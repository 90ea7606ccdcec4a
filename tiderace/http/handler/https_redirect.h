// HttpsRedirect: what the plain port answers: 308 to the same address over https.
//
//   http://host:8080/a?b  ->  308  Location: https://host:8443/a?b
//
// The host is the request's, if it is a name or an address and nothing else;
// the port is ours; path and query are as they came. A request without a host, or with one of
// another form, is answered 400: there is nowhere to send it. Requests below
// /.well-known/acme-challenge/ go to another handler, since a certificate authority asks there in
// clear text (RFC 8555, section 8.3). That handler stands before no access rule, so it serves the
// files beneath that folder and nothing else (OnlyBeneath).
//
// Owner    The program; one per loop.
// Thread   The loop's.
#pragma once

#include <cstdint>
#include <string>

#include "tiderace/http/handler.h"

namespace tiderace::http::handler {

class HttpsRedirect final : public Handler {
  public:
    static constexpr ByteView challenges = "/.well-known/acme-challenge/";

    // `port` as clients see it. `answers_challenges` outlives this.
    HttpsRedirect(std::uint16_t port, Handler& answers_challenges);

    void handle(Exchange& exchange) override;

  private:
    std::string port_;  // ":8443"; "" for 443
    Handler* answers_challenges_;
};

}  // namespace tiderace::http::handler
