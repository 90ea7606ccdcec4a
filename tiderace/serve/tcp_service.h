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
// and minimum rate of what peers take (ServeOptions::bytes_per_second_min); a read that waits when
// it drains gets End::stopping.
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

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiderace/http/app/call.h"
#include "tiderace/http/app/endpoint.h"
#include "tiderace/tcp/serve.h"

namespace tiderace::http {

struct TcpServiceOptions {
    tcp::StreamOptions stream = {};
    net::SocketOptions socket = {};                 // of each connection
    const tcp::ServerSecurity* security = nullptr;  // TLS; it outlives App::serve()
};

class TcpService {
  public:
    // With the states of a loop; nullopt: the App does not have one of them.
    using Bind = std::function<std::optional<tcp::Handler>(const States&)>;

    TcpService(std::string address, Bind bind, TcpServiceOptions options)
        : address_(std::move(address)), bind_(std::move(bind)), options_(options) {}

    const std::string& address() const { return address_; }
    const TcpServiceOptions& options() const { return options_; }
    std::optional<tcp::Handler> bind(const States& states) const { return bind_(states); }

  private:
    std::string address_;
    Bind bind_;
    TcpServiceOptions options_;
};

namespace app_parts {

template <typename...>
struct StreamHandler {
    static constexpr bool fits = false;
};
template <typename... S>
struct StreamHandler<tcp::Stream, S...> {
    static constexpr bool fits =
        ((std::is_lvalue_reference_v<S> && std::is_class_v<std::remove_cvref_t<S>>) && ...);

    template <typename F>
    static std::optional<tcp::Handler> bind(const std::shared_ptr<const F>& handler,
                                            const States& states) {
        const std::tuple found{find<std::remove_reference_t<S>>(states)...};
        return std::apply(
            [&](auto*... state) -> std::optional<tcp::Handler> {
                if (((state == nullptr) || ...)) return std::nullopt;
                return [handler, state...](tcp::Stream stream) {
                    return (*handler)(std::move(stream), *state...);
                };
            },
            found);
    }

  private:
    template <typename State>
    static State* find(const States& states) {
        const void* const key = state_key<std::remove_const_t<State>>;
        return static_cast<State*>(states.find(key, std::is_const_v<State>));
    }
};

}  // namespace app_parts

// An address as tcp::serve takes it: ":7000", "127.0.0.1:0", "[::1]:7", "unix:/run/lines.sock".
template <app_parts::HasSignature F>
std::shared_ptr<const TcpService> tcp_service(std::string address, F handler,
                                              TcpServiceOptions options = {}) {
    using Signature = app_parts::SignatureOf<F>;
    using Handler = typename Signature::template Arguments<app_parts::StreamHandler>;
    constexpr bool fits = Handler::fits && Signature::constant &&
                          std::same_as<typename Signature::Result, task::Task<>>;
    static_assert(fits,
                  "tcp_service: the handler takes a tcp::Stream, and then states alone (`S&`, or"
                  " `const S&` for a shared one), and returns a Task<>; all loops call it, so it is"
                  " not `mutable`");
    if constexpr (fits) {
        auto kept = std::make_shared<const F>(std::move(handler));
        auto bind = [kept](const States& states) { return Handler::bind(kept, states); };
        return std::make_shared<const TcpService>(std::move(address), std::move(bind), options);
    } else {
        return nullptr;
    }
}

}  // namespace tiderace::http
