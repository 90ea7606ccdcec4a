// jwt::bearer_auth(): middleware that requires a JSON Web Token, and leaves its claims.
//
//   app.group("/api")
//       .use(jwt::bearer_auth({.keys = {{.algorithm = jwt::Algorithm::rs256, .text = pem}},
//                              .issuer = "https://login.example.org", .audience = "shop"}))
//       .get<"/orders">([](const jwt::Claims& claims, Orders& orders) {
//           return orders.of(claims.subject);
//       });
//
//   Authorization: Bearer TOKEN -> Verifier -> Claims, or 401 with WWW-Authenticate (RFC 6750, 3)
//
// A claim that says what the user may do is the application's to check, in middleware behind it
// that takes `const jwt::Claims&`. Link tiderace::jwt, which needs OpenSSL.
//
// Owner    The App, as any middleware. Each loop has its own keys.
// Thread   The loop's, which verifies the signatures.
// Errors   401. Options that make no Verifier (verifier.h) are the App's fault at the start.
// Limits   filter::BearerAuth::token_bytes_max, of the field; longer ones are not looked at.
// Keywords: JWT, bearer token, OAuth 2.0, 401
#pragma once

#include <string>

#include "tiderace/http/app/middleware.h"
#include "tiderace/jwt/verifier.h"

namespace tiderace::jwt {

// `realm`: no control characters, quotes or backslashes.
http::Middleware bearer_auth(Options options, std::string realm = "restricted");

}  // namespace tiderace::jwt
