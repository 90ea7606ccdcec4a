// csrf(): refuses forms that were not made from a page of this site, by a token of the session that
// each form has to send back.
//
//   app.use(sessions(store)).use(csrf());
//   app.get<"/">([](Session session) -> Task<PageOf<"delete.html", Delete>> {
//       co_return Delete{.csrf = co_await csrf_token(session)};
//   });
//
//   <form method="post" action="/delete"><input type="hidden" name="csrf" value="{{ csrf }}">
//
//   GET, HEAD, OPTIONS                   pass: they change nothing
//   X-CSRF-Token: a token                pass; a wrong one is 403
//   an urlencoded body                   read whole; its value `csrf` is checked before the handler
//   a multipart body                     … its first part, which has to be `csrf`; the handler also
//                                        sees this part
//   anything else                        403
//
// The check is done after all middleware and before the handler, whatever the handler takes: a
// button to log out needs no Form<T>. A handler that takes a BodyStream needs the header, or a
// multipart body, and programs (App::cgi, App::fastcgi) the header.
//
// Each token is different (a random mask, and the session's secret under it), so that its text in a
// compressed answer does not give the secret away (BREACH). All tokens of a session stay valid
// until it ends or renew() gives it a new id; they are compared in constant time. A visitor without
// a session has the secret in a cookie "__Host-csrf" ("csrf" without SessionOptions::secure), and
// no entry in the store: a set() keeps these tokens valid, a renew() does not.
//
// Owner    The App, as any middleware.
// Thread   The loop's.
// Errors   403 as a Problem. No sessions() before it: 500, and a line in the log.
// Limits   Of the route's body; first_part_bytes_max for what is read of a multipart body.
// Keywords: CSRF, XSRF, form token
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tiderace/http/app/session.h"
#include "tiderace/task/task.h"

namespace tiderace::http {

// After sessions().
Middleware csrf();

// For a hidden field `csrf`.
task::Task<std::string> csrf_token(Session session);

namespace app_parts {

inline constexpr std::size_t first_part_bytes_max = 4_KiB;

// A request passed csrf(), and its body has still to show a token.
bool awaits_csrf_token(const Exchange& exchange);

enum class FormCheck : std::uint8_t {
    need_more,  // of the body
    good,       // awaits_csrf_token() is false from here on
    bad,
};
// Looks for the token in what came of the body; `ended`: that is all of it.
FormCheck check_csrf_token(Exchange& exchange, ByteView body, bool ended);
void refuse_csrf(Exchange& exchange);

}  // namespace app_parts
}  // namespace tiderace::http
