// SocketEndpointOf<F>: a WebSocket's route. F is a task that has the socket as long as it runs.
//
//   app.ws<"/rooms/{name}">([](WebSocket& socket, std::string name, Topics& all) -> Task<> { … });
//
//   request -> arguments -> accepted -> F runs -> it ends: 1000, or 1011 if it threw
//                       \-> Problem, or 400, 403, 426: F is never called
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
    void accept(Exchange& exchange, std::unique_ptr<ServedSocket> made, task::Task<> task);

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
        // Not beside the other checks: there it would make app.ws() a second error.
        static_assert(!Signature::waits,
                      "a WebSocket cannot take an argument whose FromRequest<T>::from is a task");
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
            SocketPart& part = endpoint.part(call);
            call.has_left = false;  // the socket lives on when the exchange is over
            auto served = std::make_unique<ServedSocket>(part);
            std::tuple found{SocketArgument<A>::find(call, served->socket())...};
            const auto accept = [&](auto&... each) {
                if (!(each.has_value() && ...)) return;
                if constexpr (Signature::takes_views) served->keep(call.exchange.defer());
                task::Task<> task = endpoint.handler_(SocketArgument<A>::pass(each)...);
                part.accept(call.exchange, std::move(served), std::move(task));
            };
            answer_problems(call.exchange, [&] { std::apply(accept, found); });
        }
    };

    const F handler_;
};

}  // namespace tiderace::http::app_parts
