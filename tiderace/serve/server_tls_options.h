// server_tls_options: what tls needs to serve with a TlsServer (tcp/tls.h).
//
// Thread   The main one, before there are others.
// Errors   A development certificate that cannot be made.
#pragma once

#include <string>

#include "tiderace/base/result.h"
#include "tiderace/tcp/tls.h"
#include "tiderace/tls/server_options.h"

namespace tiderace::tcp {

// Makes the development certificate where one is wanted. `authority`: the file of its authority.
Result<tls::ServerOptions> server_tls_options(const TlsServer& options,
                                              std::string* authority = nullptr);

}  // namespace tiderace::tcp
