// ServerTls, ClientTls: TLS for the streams of tcp.
//
//   const tcp::ServerTls tls({.certificate = "cert.pem", .key = "key.pem"});
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

namespace tiderace::tls {
class TicketShare;
}

namespace tiderace::tcp {

// PEM files: a certificate with its chain, and its key.
struct PemFiles {
    std::string certificate;
    std::string key;
};

struct ServerTlsOptions {
    std::vector<PemFiles> certificates = {};  // chosen by the name that the client asks for
    // PEM file of the authorities that sign clients' certificates. "": none is requested.
    std::string client_ca = {};
    // With client_ca. False: a client without a certificate is served, too. One that shows a
    // certificate that does not verify is refused in either case.
    bool client_required = true;
    std::vector<std::string> protocols = {};  // ALPN, in the server's order; empty: not spoken
};

class ServerTls final : public ServerSecurity {
  public:
    explicit ServerTls(PemFiles files);
    explicit ServerTls(ServerTlsOptions options);

    Result<std::shared_ptr<net::TransportLayer>> layer(core::EventLoop& loop) const override;

  private:
    ServerTlsOptions options_;
    std::shared_ptr<tls::TicketShare> tickets_;
};

struct ClientTlsOptions {
    bool system_roots = true;                 // trust the system's authorities
    std::string ca = {};                      // PEM file of others to trust; "": none
    PemFiles certificate = {};                // our own, for servers that ask for one
    std::vector<std::string> protocols = {};  // ALPN, best first
};

class ClientTls final : public ClientSecurity {
  public:
    explicit ClientTls(ClientTlsOptions options = {});

    Result<std::shared_ptr<ClientLayer>> layer(task::Runner& runner) const override;

  private:
    struct Token {};

    ClientTlsOptions options_;
    std::shared_ptr<const Token> token_;  // loops see by it that this object has ended
};

}  // namespace tiderace::tcp
