// SocketEndpointOf<F>: a WebSocket's route. F is a task that has the socket as long as it runs.
//
//   app.ws<"/rooms/{name}">([](WebSocket& socket, std::string name, Topics& all) -> Task<> { … });
//
//   request -> arguments [-> arguments by tasks] -> accepted -> F runs -> it ends: 1000, or 1011
//                       \-> Problem, or 400, 403, 426: F is never called              if it threw
//
// F takes the arguments of other handlers, except the body. Views of the request stay valid as long
// as it runs; the memory of the request is kept only for a handler that has some.
//
// When the socket ends (the peer closes or is gone; the server drains, with 1001), a receive or a
// send that waits returns nothing or false. F then has close_timeout to end, and is cancelled after
// that. If it waits for something else when the connection breaks, it is cancelled at once: its
// frame ends at its await.
//
// Owner    The App. Handlers are shared by all loops and called as const.
// Thread   Any loop's.
// Errors   What F throws is one log line, and the socket's close code is 1011.
// Limits   WebSocketOptions; the server's connections.
// Memory   A socket, about 400 bytes beside F's frame and the connection.
// Keywords: WebSocket route, upgrade
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/core/timer_wheel.h"
#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/app/function_rule.h"
#include "tiderace/http/websocket/socket.h"
#include "tiderace/http/websocket/socket_state.h"

namespace tiderace::http::app_parts {

class ServedSocket;

// A loop's part of one route.
class SocketPart final {
  public:
    SocketPart(const WebSocketOptions& options, LayerPlace& place);
    ~SocketPart();

    // Answers the exchange. Then `task` runs, or ends without having begun.
    static void accept(Exchange& exchange, std::unique_ptr<ServedSocket> made, task::Task<> task);

    std::size_t size() const { return served_.size(); }  // tasks
    WebSocketService& service() { return service_; }
    task::Runner& runner() { return *runner_; }

  private:
    friend class ServedSocket;

    WebSocketService service_;
    task::Runner* runner_;
    std::vector<std::unique_ptr<ServedSocket>> served_;
};

// A socket and the task that has it.
class ServedSocket final : public task::Root, private WebSocketObserver, private core::Timer {
  public:
    explicit ServedSocket(SocketPart& part);
    ~ServedSocket() override;

    WebSocket& socket() { return socket_; }
    void keep(core::Ref<Exchange> exchange) { exchange_ = std::move(exchange); }

  private:
    friend class SocketPart;

    void on_done(std::exception_ptr failure) override;
    void on_ended(bool waiting) override;
    void on_stuck() override { remove(); }
    void on_expired() override { remove(); }
    void remove();

    core::Ref<core::Shared> tree_;  // of the site that has the part
    SocketPart* part_;
    std::size_t index_ = 0;         // in SocketPart::served_
    bool removed_ = false;          // and not there any more
    core::Ref<Exchange> exchange_;  // of which the task has views
    WebSocket socket_;
};

// A handler that has its arguments, and has not begun.
using ReadySocket = std::pair<std::unique_ptr<ServedSocket>, task::Task<>>;

class ComingSocket final : public InvocationBase<std::expected<ReadySocket, Refusal>> {
  public:
    using InvocationBase::InvocationBase;

  private:
    void answer_value(Exchange& exchange, task::Runner& runner) override;
};

class SocketEndpoint : public Endpoint {
  public:
    SocketEndpoint(const EndpointKind& kind, WebSocketOptions options)
        : Endpoint(kind), options_(std::move(options)) {}

    std::shared_ptr<void> make_part(LayerPlace& place) const override;

  protected:
    SocketPart& part(Call& call) const;

  private:
    WebSocketOptions options_;
};

// As Argument<A>, and the socket itself.
template <typename A>
struct SocketArgument : Argument<A> {
    static auto find(Call& call, WebSocket&) { return find_argument<A>(call); }
};
template <>
struct SocketArgument<WebSocket&> {
    static std::optional<WebSocket*> find(Call&, WebSocket& socket) { return &socket; }
    static WebSocket& pass(std::optional<WebSocket*>& found) { return **found; }
};

template <>
struct ArgumentNeeds<WebSocket&> {
    static void list(std::vector<Need>&) {}
};

template <typename F>
class SocketEndpointOf final : public SocketEndpoint {
  public:
    using Options = WebSocketOptions;
    using Signature = SignatureOf<F>;

    SocketEndpointOf(F&& handler, Options options)
        : SocketEndpoint(kind, std::move(options)), handler_(std::move(handler)) {}

    static_assert(std::is_same_v<typename Signature::Result, task::Task<>>,
                  "a WebSocket's handler is a coroutine: return a Task<>");
    static_assert(Signature::body_arguments == 0, "a WebSocket's request has no body");
    void call(Call& call) const override {
        typename Signature::template Arguments<With>().call(*this, call);
    }

  private:
    static constexpr EndpointKind kind{
        .keeps_views = Signature::takes_views,
        .is_websocket = true,
        .list_needs = Signature::template Arguments<NeedsOf>::list,
    };

    template <typename... A>
    struct With {
        static_assert((std::is_same_v<A, WebSocket&> || ...),
                      "a WebSocket's handler takes a WebSocket&");
        static_assert(!(std::is_same_v<A, Exchange&> || ...),
                      "a WebSocket's handler outlives its Exchange");

        void call(const SocketEndpointOf& endpoint, Call& call) const {
            call.has_left = false;  // the socket lives on when the exchange is over
            auto served = std::make_unique<ServedSocket>(endpoint.part(call));
            std::tuple found{SocketArgument<A>::find(call, served->socket())...};
            answer_problems(call.exchange, [&] {
                begin(endpoint, call, served, found, std::index_sequence_for<A...>());
            });
        }
        template <typename Found, std::size_t... i>
        static void begin(const SocketEndpointOf& endpoint, Call& call,
                          std::unique_ptr<ServedSocket>& served, Found& found,
                          std::index_sequence<i...> all) {
            if (!(std::get<i>(found).has_value() && ...)) return;
            if constexpr (Signature::takes_views) served->keep(call.exchange.defer());
            if constexpr (Signature::waits) {
                ComingSocket::template run<ComingSocket>(
                    call, made_ready(endpoint.handler_, std::move(served), std::move(found), all));
            } else {
                SocketPart::accept(
                    call.exchange, std::move(served),
                    endpoint.handler_(SocketArgument<A>::pass(std::get<i>(found))...));
            }
        }
        template <typename Found, std::size_t... i>
        static task::Task<std::expected<ReadySocket, Refusal>> made_ready(
            const F& handler, std::unique_ptr<ServedSocket> served, Found found,
            std::index_sequence<i...>) {
            std::optional<Refusal> refusal;
            (co_await app_parts::come<A>(std::get<i>(found), refusal), ...);
            if (refusal) co_return std::unexpected(std::move(*refusal));
            ReadySocket ready{std::move(served),
                              handler(SocketArgument<A>::pass(std::get<i>(found))...)};
            co_return std::move(ready);
        }
    };

    const F handler_;
};

}  // namespace tiderace::http::app_parts
