// HTTP applications: a whole service in a few lines.
//
//     #include <tiderace/app.h>
//
//     #include <cstdint>
//     #include <optional>
//     #include <string>
//
//     struct User {
//         std::uint64_t id;
//         std::string name;
//     };
//
//     int main() {
//         tiderace::http::App app;
//         app.get<"/">([] { return "hello\n"; });
//         app.get<"/users/{id}">([](std::uint64_t id) -> std::optional<User> {  // JSON, or 404
//             if (id != 7) return std::nullopt;
//             return User{7, "ann"};
//         });
//         app.post<"/echo">([](tiderace::http::Body body) { return std::move(body).text(); });
//         return app.serve({.listen = ":8080"});  // all cores, HTTP/1.1 and 2, SIGTERM drains
//     }
//
// Link `tiderace::app`. Each header below says more: owner, thread, errors, limits. Also for
// applications, but not included here:
//   base/ascii.h  base/utf8.h  base/base64.h  base/calendar.h    text and dates
//   base/sha1.h  http/wire/sha256.h                              checksums
//   base/transient_error.h                                       exceptions answered with 503
//   net/transport.h                                              Request::security
//   http/app/session_store.h                                     a session store of your own
//   http/stores/database_sessions.h  http/stores/redis_sessions.h   sessions that nodes share
//   http/stores/redis_rates.h                                    limits that nodes share
//   password/hasher.h                                            hashes of passwords
//   jwt/bearer_auth.h  jwt/verifier.h                            tokens that others have signed
#pragma once

#include "tiderace/base/constant_time.h"    // equals_in_constant_time: secrets
#include "tiderace/http/app/app.h"          // App: routes and states
#include "tiderace/http/app/arguments.h"    // what a handler may take: Json<T>, Body, parameters
#include "tiderace/http/app/body_stream.h"  // BodyStream: a body as it comes
#include "tiderace/http/app/cookies.h"      // Cookies
#include "tiderace/http/app/csrf.h"         // csrf(): tokens in forms
#include "tiderace/http/app/file.h"         // File: a file of the disk as an answer
#include "tiderace/http/app/form.h"         // Query<T>, Form<T>
#include "tiderace/http/app/from_request/from_request.h"  // FromRequest<T>: your own
#include "tiderace/http/app/group.h"  // use, group, files, cgi, error_page: of App and groups
#include "tiderace/http/app/limits/rate_limit.h"   // rate_limit()
#include "tiderace/http/app/multipart.h"           // Multipart: uploads
#include "tiderace/http/app/observe/logger.h"      // Logger: lines with their request
#include "tiderace/http/app/pages/error_page.h"    // ErrorAnswer: an App's own error pages
#include "tiderace/http/app/pages/page.h"          // Page: answers made of templates
#include "tiderace/http/app/problem.h"             // Problem, Created, Redirect
#include "tiderace/http/app/ready_middleware.h"    // cors, basic_auth, compress …
#include "tiderace/http/app/results.h"             // what a handler may return
#include "tiderace/http/app/routes.h"              // get, post, ws …: a function for each method
#include "tiderace/http/app/session.h"             // Session, sessions()
#include "tiderace/http/app/signed/cookie_keys.h"  // CookieKeys: signed cookies
#include "tiderace/http/app/signed/signed_urls.h"  // SignedUrls: links that expire
#include "tiderace/http/app/stream.h"              // Events; bodies from a Generator
#include "tiderace/http/cookie.h"                  // Cookie: one for the client
#include "tiderace/http/response.h"                // Response: status, headers, body
#include "tiderace/metrics/metrics.h"              // Counter, Gauge, Histogram
#include "tiderace/serve/serve.h"                  // ServeOptions
#include "tiderace/task.h"                         // Task, sleep, within, Scope …
