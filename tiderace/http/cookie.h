// Cookie: one for the client to keep (RFC 6265bis), as strict as possible by default.
//
//   return Response().cookie({.name = "seen", .value = "yes", .max_age = 24h}).text("welcome\n");
//
// What the client has sent: http/app/cookies.h.
#pragma once

#include <optional>
#include <string>

#include "tiderace/base/units.h"
#include "tiderace/http/wire/cookie.h"

namespace tiderace::http {

struct Cookie {
    std::string name;
    std::string value;
    std::string path = "/";
    std::string domain = "";               // "": this host alone
    std::optional<Duration> max_age = {};  // none: until the browser closes; zero: it is removed
    wire::SameSite same_site = wire::SameSite::lax;
    bool secure = true;     // false: sent over plain HTTP, too; browsers take localhost for secure
    bool http_only = true;  // scripts cannot read it
    bool partitioned = false;
};

}  // namespace tiderace::http
