// ClientContext: the client's side of TLS on one loop. By default the server's certificate is
// verified against the system's roots and the requested name.
//
//   auto context = tls::ClientContext::create(loop, {});
//   auto transport = context->wrap(std::move(tcp), "example.org");
//
// Owner    Its creator. It outlives every transport it wrapped.
// Thread   Its loop's.
// Errors   create(): which file, what was expected. A server that does not verify: -EPROTO from the
//          transport, and HandshakeFailure::certificate in the counters.
// Memory   An SSL of about 10 KiB for each connection, and the loop's buffer. With
//          ClientOptions::resume a session of some KiB for each name, of resumed_names_max names.
// Keywords: certificate verification, CA, SNI
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/net/transport.h"
#include "tiderace/tls/handshake_counters.h"
#include "tiderace/tls/server_options.h"

namespace tiderace::tls {

class LoopParts;

struct ClientOptions {
    bool verify = true;                  // false: do not verify the server's certificate; for tests
    bool system_roots = true;            // trust the system's authorities
    std::string ca;                      // PEM file of others to trust; "": none
    CertificateFiles certificate;        // our own, for servers that request it; "": none
    std::vector<std::string> protocols;  // ALPN, best first; empty: not offered
    // Sessions are kept and offered again: the handshake is shorter, and no certificate is sent.
    bool resume = false;
    Duration handshake_timeout = 10s;
};

class ClientContext final {
  public:
    static constexpr std::size_t resumed_names_max = 256;

    static Result<std::unique_ptr<ClientContext>> create(core::EventLoop& loop,
                                                         ClientOptions options);
    ~ClientContext();
    // A text that changes when a file does that create() reads with these options, including the
    // system's authorities. Not for display.
    static std::string look_at_files(const ClientOptions& options);

    // `server_name` is sent as SNI, and the certificate must match it: a host name, or an IP
    // address in text. nullptr: no such name can be (it is empty, or has a NUL).
    std::unique_ptr<net::Transport> wrap(std::unique_ptr<net::Transport> below,
                                         const std::string& server_name) TR_ON_LOOP;

    const HandshakeCounters& counters() const;

  private:
    class Endpoint;

    ClientContext(core::EventLoop& loop, ClientOptions options);

    ClientOptions options_;
    std::unique_ptr<LoopParts> parts_;
    std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace tiderace::tls
