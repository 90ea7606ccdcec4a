// ServerTls, ClientTls: TLS for the streams of tcp.
//
//   const tcp::ServerTls tls({.certificates = {{"cert.pem", "key.pem"}}});
//   return tcp::serve(":7443", session, {.security = &tls});
//
//   const tcp::ClientTls tls;                                   // the system's roots
//   auto stream = co_await tcp::connect("example.org:7443", {.security = &tls});
//
// The client verifies the server's certificate and its name. Stream::security() and
// Peer::security() have what was agreed on: `client_verified` where the client has shown a
// certificate that `client_ca` signed, and its subject as `client`. All layers of a ServerTls share
// the keys of their tickets, so that a session which began on one loop is resumed on any. For each
// connection a client looks whether its files and the system's authorities have changed, and reads
// them again then.
//
// Owner    The program. A ServerTls outlives the servers that use it, a ClientTls the calls of
//          connect(); streams keep what they need of it.
// Thread   Any; what it makes for a loop stays there.
// Errors   A file that cannot be read is a Result of serve() or connect(), and names it. A
//          client's that was read before: a warning, and what was read then stays.
// Limits   tls::ServerOptions, tls::ClientOptions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tiderace/tcp/security.h"
#include "tiderace/tcp/tls.h"

namespace tiderace::tls {
class TicketShare;
}

namespace tiderace::tcp {

class ServerTls final : public ServerSecurity {
  public:
    // `protocols`: ALPN, in the server's order; empty: not spoken.
    explicit ServerTls(TlsServer tls, std::vector<std::string> protocols = {});

    Result<std::shared_ptr<net::TransportLayer>> layer(core::EventLoop& loop) const override;

  private:
    TlsServer tls_;
    std::vector<std::string> protocols_;
    std::shared_ptr<tls::TicketShare> tickets_;
};

class ClientTls final : public ClientSecurity {
  public:
    // `protocols`: ALPN, best first.
    explicit ClientTls(TlsClient tls = {}, std::vector<std::string> protocols = {});

    Result<std::shared_ptr<ClientLayer>> layer(task::Runner& runner) const override;

  private:
    struct Token {};

    TlsClient tls_;
    std::vector<std::string> protocols_;
    std::shared_ptr<const Token> token_;  // loops see by it that this object has ended
};

}  // namespace tiderace::tcp
