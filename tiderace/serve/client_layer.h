// ClientLayerOfFiles: TLS as tcp's ClientLayer, for streams and http::Client.
//
// Owner    The caller. It outlives the transports that it wrapped.
// Thread   The loop's.
// Errors   A certificate, key or authority that cannot be read; no TLS in this build.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tiderace/core/event_loop.h"
#include "tiderace/tcp/security.h"
#include "tiderace/tcp/tls.h"

namespace tiderace::tcp {

// A layer of one loop that follows its files: where one has changed, the next connection gets a
// layer that was made anew, and which resumes no session of the one before. Until the new files can
// be used the old layer stays, with a warning. Connections keep the layer that they began with.
class ClientLayerOfFiles {
  public:
    // With the same options each time.
    Result<std::shared_ptr<ClientLayer>> get(core::EventLoop& loop, const TlsClient& tls,
                                             const std::vector<std::string>& protocols);

  private:
    std::shared_ptr<ClientLayer> layer_;
    std::string look_;          // of the files that layer_ was made of
    std::string refused_look_;  // of the files that the last warning is about
};

}  // namespace tiderace::tcp
