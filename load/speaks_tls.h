// Whether a server that got a request in clear text speaks TLS, so that a run whose every request
// fails can report what to change.
//
// Thread   Any; it blocks for one connection and its first answer, at most 2 s each.
// Errors   False: it does not, or it took too long.
#pragma once

#include <string_view>

#include "tiderace/core/address.h"

namespace tiderace::load {

// One connection, and no request. Without the TLS library, which a program for http:// may lack.
bool speaks_tls(const core::Address& address, std::string_view engine);

}  // namespace tiderace::load
