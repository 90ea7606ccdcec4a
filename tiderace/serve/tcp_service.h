// tcp_service: a protocol over TCP beside an App: on the same loops, with the same states.
//
//   #include <tiderace/serve/tcp_service.h>
//
//   Task<> lookup(tcp::Stream stream, Topics& topics) {
//       while (auto line = co_await stream.read(tcp::Line{})) topics.publish("lines", *line);
//   }
//   return app.serve({.listen = ":8080", .tcp = {tcp_service(":7000", lookup)}});
//
// The handler is one of tcp::serve (tcp/serve.h), which takes states of the App after its stream:
// `S&`, one of its loop, or `const S&`. It shares the App's signals, draining, limit of connections
// and minimum rate of what peers take (ServeOptions::bytes_per_second_min); what they send has the
// service's own, StreamOptions::receive_bytes_per_second_min, because people type slowly. A read
// that waits when it drains gets End::stopping.
//
//   const tcp::ServerTls tls({.certificates = {{"cert.pem", "key.pem"}}});
//   tcp_service(":7443", lookup, {.security = &tls})      // begins when the handshake is over
//
// Owner    ServeOptions. One copy for all loops, called as const.
// Thread   Any loop's, at once.
// Errors   A certificate that cannot be read, or a state that the App does not have, keeps it from
//          serving, with one sentence. A handler that throws is one log line, and its connection is
//          closed at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/tcp/serve.h"

namespace tiderace::http {

struct TcpServiceOptions {
    tcp::StreamOptions stream = {};
    net::SocketOptions socket = {};                 // of each connection
    const tcp::ServerSecurity* security = nullptr;  // TLS; it outlives App::serve()
};

class TcpService {
  public:
    TcpService(std::string address, tcp::BoundHandler bind, TcpServiceOptions options)
        : address_(std::move(address)), bind_(std::move(bind)), options_(options) {}

    const std::string& address() const { return address_; }
    const TcpServiceOptions& options() const { return options_; }
    // With the states of a loop; nullopt: the App does not have one of them.
    std::optional<tcp::Handler> bind(const task::States& states) const { return bind_(states); }

  private:
    std::string address_;
    tcp::BoundHandler bind_;
    TcpServiceOptions options_;
};

// An address as tcp::serve takes it: ":7000", "127.0.0.1:0", "[::1]:7", "unix:/run/lines.sock".
template <task::HasSignature F>
std::shared_ptr<const TcpService> tcp_service(std::string address, F handler,
                                              TcpServiceOptions options = {}) {
    return std::make_shared<const TcpService>(std::move(address),
                                              tcp::bind_states(std::move(handler)), options);
}

}  // namespace tiderace::http
