// Internal. Security: what a stream goes through on its way to the peer: TLS. This room knows no
// TLS; serve/ implements these interfaces with tls (tiderace/serve/stream_tls.h).
//
// Owner    The program; it outlives the servers and the connections that use it.
// Thread   The makers: any. What they make: its loop's.
// Errors   What cannot be made (a certificate file) is a Result.
#pragma once

#include <memory>
#include <string>

#include "tiderace/base/result.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/net/transport.h"
#include "tiderace/task/runner.h"

namespace tiderace::tcp {

// The client's side on one loop. It outlives every transport that it wrapped.
class ClientLayer {
  public:
    virtual ~ClientLayer() = default;
    // `host` is the name that was connected to, which the peer has to prove. nullptr: no
    // certificate can be for it.
    virtual std::unique_ptr<net::Transport> wrap(std::unique_ptr<net::Transport> below,
                                                 const std::string& host) TR_ON_LOOP = 0;
};

class ClientSecurity {
  public:
    // The one for the runner's loop.
    virtual Result<std::shared_ptr<ClientLayer>> layer(task::Runner& runner) const = 0;

  protected:
    ~ClientSecurity() = default;
};

class ServerSecurity {
  public:
    // One for each loop, made before the loops run.
    virtual Result<std::shared_ptr<net::TransportLayer>> layer(core::EventLoop& loop) const = 0;

  protected:
    ~ServerSecurity() = default;
};

}  // namespace tiderace::tcp
