// `tiderace explain FILE URL...`: what the server of a configuration does with requests, without a
// server. The site and the route are found as it finds them.
//
//   site    example.org                     # site.toml:4
//   route   path = "/old"                   # site.toml:9       those that hold, the nearest first
//   answer  redirect 308 /new               # site.toml:10
//   set     auth = { users = "staff" }      # site.toml:6, preset hardened
//   line    127.0.0.1 - - [2…] "GET / …     of the access log; 0: what only the answer itself has
//
// Of files it has each name that is looked for (`file`) with the `cache` rule that it is sent with,
// or that a program gets (`script`).
//
// Thread   Main; blocks on the disk. It opens no files but the configuration's.
// Keywords: which route, effective settings, dry run
#pragma once

#include <string>

#include "server/command_line/command_words.h"
#include "server/config/config.h"
#include "server/config/document.h"
#include "tiderace/http/request.h"

namespace tiderace::server::config {

// `config` is what was read of `top`.
std::string explain(const Config& config, const Table& top, const Sources& sources,
                    const http::Request& request);

// FILE and URLs are the operands; an empty line stands between two. The exit status: 0; 1 where the
// file has errors; 2 where it cannot be read, or a URL is none.
int explain_request(const CommandWords& words);

}  // namespace tiderace::server::config
