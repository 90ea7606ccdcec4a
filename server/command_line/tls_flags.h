// The flags of HTTPS whose value has a form of its own, and what they must be together.
//
// Errors   As in flag_texts.h: each names what it expects. Whether a file is there, and what is in
//          it, is found out when the server starts.
// Keywords: HSTS, HTTPS flags
#pragma once

#include <string_view>

#include "server/command_line/flag_values.h"
#include "server/options.h"

namespace tiderace::server {

Applied set_tls(ServeOptions& options, std::string_view value);
Applied set_https_redirect(ServeOptions& options, std::string_view value);

// Once all flags are read: refuses flags that make no sense together, or all of them in a program
// that has no TLS (other_program.h; not asked where none of them is on), and gives the default
// address its port for https.
Applied settle_tls(ServeOptions& options, bool has_tls);

}  // namespace tiderace::server
