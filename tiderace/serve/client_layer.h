// make_client_layer: TLS as tcp's ClientLayer, for what connects: streams and http::Client.
//
// Owner    The caller. It outlives the transports that it wrapped.
// Thread   The loop's.
// Errors   A certificate, key or authority that cannot be read; no TLS in this build.
#pragma once

#include <memory>

#include "tiderace/tcp/security.h"
#include "tiderace/tls/client_context.h"

namespace tiderace::tcp {

Result<std::shared_ptr<ClientLayer>> make_client_layer(core::EventLoop& loop,
                                                       tls::ClientOptions options);

}  // namespace tiderace::tcp
