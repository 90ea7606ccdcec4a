// LocalExchange: a request that a program made of another one, by a Location that is a path of this
// server (RFC 3875, section 6.2.2). Its answer is the answer to the other.
//
//   client -> exchange -> program: "Location: /b" -> LocalExchange: GET /b -> site
//          <- respond() <---------------------------------------------------- answer
//
// It is a GET without a body, and without conditions and ranges, which were meant for another
// path; HEAD stays HEAD.
//
// Owner    The handler that deferred it, and the first exchange. When the first is abandoned, this
//          one is too.
// Thread   The loop's.
#pragma once

#include <memory>
#include <string>

#include "tiderace/http/exchange.h"
#include "tiderace/http/site.h"

namespace tiderace::http::cgi {

// How many local redirects led to this exchange.
unsigned local_redirects_of(const Exchange& exchange);

// Answers `exchange` as `site` answers `target` ("/b?x=1"). 502 where that is no path.
void answer_from_path(Exchange& exchange, Site& site, ByteView target);

}  // namespace tiderace::http::cgi
