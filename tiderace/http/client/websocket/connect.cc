#include "tiderace/http/client/websocket/connect.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tiderace/http/client/tunnel.h"
#include "tiderace/http/websocket/client.h"
#include "tiderace/http/websocket/socket_state.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/net/connection.h"
#include "tiderace/task/within.h"
#include "tiderace/tcp/outgoing.h"

namespace tiderace::http {
namespace {

using Kind = ClientFault::Kind;

bool same(const WebSocketOptions& a, const WebSocketOptions& b) {
    return a.subprotocols == b.subprotocols && a.message_bytes_max == b.message_bytes_max &&
           a.ping_interval == b.ping_interval && a.pong_timeout == b.pong_timeout &&
           a.close_timeout == b.close_timeout && a.compression == b.compression;
}

WebSocketOptions options_of(const WebSocketConnect& how) {
    WebSocketOptions options;
    options.subprotocols = how.subprotocols;
    options.message_bytes_max = how.message_bytes_max;
    options.ping_interval = how.ping_interval;
    options.pong_timeout = how.pong_timeout;
    options.close_timeout = how.close_timeout;
    options.compression = how.compression;
    return options;
}

// What the WebSockets of one loop's tasks share.
class SocketServices final {
  public:
    explicit SocketServices(task::Runner& runner) : loop_(&runner.loop()) {}

    // One for all sockets with the same options. Some that no socket uses are kept.
    std::shared_ptr<WebSocketService> find_or_make(WebSocketOptions options) {
        for (const auto& each : services_) {
            if (same(each->options(), options)) return each;
        }
        // Options may differ from socket to socket (a limit from a configuration, say), and
        // services would pile up.
        if (services_.size() >= unused_services_max) {
            std::erase_if(services_, [](const auto& each) { return each.use_count() == 1; });
        }
        services_.push_back(std::make_shared<WebSocketService>(*loop_, std::move(options)));
        return services_.back();
    }

  private:
    static constexpr std::size_t unused_services_max = 8;

    core::EventLoop* loop_;
    std::vector<std::shared_ptr<WebSocketService>> services_;
};

// The answer to the opening handshake. If its task ends before, so does the connection.
class Answered final {
  public:
    Answered(WebSocketState& state, tcp::Outgoing& outgoing, net::Connection& connection)
        : state_(&state), outgoing_(&outgoing), id_(connection.id()) {
        state.ask(&waiter_);
    }
    ~Answered() {
        if (!state_->asked()) return;
        state_->stop_asking();
        outgoing_->close(id_);
    }
    Answered(const Answered&) = delete;
    Answered& operator=(const Answered&) = delete;

    bool await_ready() const { return !state_->asked(); }
    void await_suspend(std::coroutine_handle<> handle) { waiter_.suspend(handle); }
    void await_resume() const {}

  private:
    WebSocketState* state_;
    tcp::Outgoing* outgoing_;
    net::ConnectionId id_;
    task::Waiter waiter_;
};

// "ws://…" as http, "wss://…" as https.
std::optional<Url> parse(std::string_view text) {
    for (const auto& [scheme, as] :
         {std::pair<std::string_view, const char*>{"ws://", "http://"},
          std::pair<std::string_view, const char*>{"wss://", "https://"}}) {
        if (text.size() > scheme.size() && starts_with_ignoring_case(text, scheme)) {
            return Url::parse(as + std::string(text.substr(scheme.size())));
        }
    }
    return std::nullopt;
}

// The caller may not set the fields of the handshake itself.
bool may_be_sent(const WebSocketConnect& how) {
    const auto is_ours = [](const Header& field) {
        constexpr std::string_view reserved = "Sec-WebSocket-";
        for (const char* name :
             {"Host", "Connection", "Upgrade", "Origin", "Content-Length", "Transfer-Encoding"}) {
            if (equals_ignoring_case(field.name, name)) return true;
        }
        return starts_with_ignoring_case(field.name, reserved);
    };
    return how.headers.valid() && std::ranges::none_of(how.headers, is_ours) &&
           wire::is_field_value(how.origin) &&
           std::ranges::all_of(how.subprotocols,
                               [](const std::string& name) { return wire::is_token(name); });
}

std::string cookies_for(const Url& url, const WebSocketConnect& how, const core::EventLoop& loop) {
    if (how.cookies == nullptr) return {};
    const std::string path = url.path();
    return how.cookies->header({url.secure, url.host, path}, loop.unix_now());
}

WebSocketClientRequest request_of(const Url& url, const WebSocketConnect& how,
                                  core::EventLoop& loop) {
    WebSocketClientRequest request{
        .authority = url.authority(),
        .target = url.target,
        .secure = url.secure,
        .origin = how.origin,
        // within() ends the wait; of two limits at one instant the
        // connection's would come first, and report less.
        .timeout = how.timeout < Duration::max() - 1s ? how.timeout + 1s : Duration::max()};
    for (const Header& field : how.headers) {
        request.fields.emplace_back(field.name).append(": ").append(field.value);
    }
    const std::string cookies = cookies_for(url, how, loop);
    if (!cookies.empty()) request.fields.push_back("Cookie: " + cookies);
    return request;
}

ClientFault refused(const std::string& url, const WebSocketState& state,
                    const std::string& by_proxy) {
    const std::string why(state.reason());
    // First, because to the layers above a proxy's refusal is only a connection that ended.
    if (!by_proxy.empty()) return {Kind::connect, url + ": " + by_proxy};
    if (why.starts_with(websocket_no_tls)) return {Kind::tls, url + ": " + why};
    if (state.http_status() == 0) return {Kind::closed, url + ": " + why};
    return {Kind::bad_answer,
            url + ": the server answered " + std::to_string(state.http_status()) + ": " + why};
}

// `to`: ClientOptions::connect_to.
task::Task<ClientResult<WebSocket>> open(const tcp::ClientSecurity* security, Proxies proxies,
                                         std::string to, std::string url, WebSocketConnect how) {
    const auto parsed = parse(url);
    if (!parsed) {
        co_return std::unexpected(
            ClientFault(Kind::bad_request, "\"" + url + "\" is no ws(s) URL"));
    }
    if (!may_be_sent(how)) {
        co_return std::unexpected(
            ClientFault(Kind::bad_request, url + ": no handshake may hold its fields"));
    }
    task::Runner& runner = *task::Context::here().runner;
    ServerWay way{.secure = parsed->secure,
                  .host = parsed->name(),
                  .place = parsed->place(),
                  .to = std::move(to),
                  .proxy = proxies.find(*parsed),
                  .tunnels = true,
                  .security = security,
                  .timeout = how.timeout};
    const std::shared_ptr<std::string> by_proxy = way.refusal;
    auto dialed = co_await dial_server(runner, std::move(way));
    if (!dialed) co_return std::unexpected(std::move(dialed.error()));
    const auto service = runner.local<SocketServices>().find_or_make(options_of(how));
    auto& outgoing = runner.local<tcp::Outgoing>();
    net::Connection& connection = outgoing.add(std::move(*dialed), service);
    // The socket owns its state from here on.
    WebSocket socket(*new WebSocketState);
    Answered answered(socket.state(), outgoing, connection);
    open_websocket(connection, *service, socket.state(), request_of(*parsed, how, runner.loop()));
    co_await answered;
    if (socket.state().refused()) {
        co_return std::unexpected(refused(url, socket.state(), *by_proxy));
    }
    co_return std::move(socket);
}

// Ends `opening` when `limit` is over.
task::Task<ClientResult<WebSocket>> in_time(Duration limit, std::string url,
                                            task::Task<ClientResult<WebSocket>> opening) {
    auto made = co_await task::within(limit, std::move(opening));
    if (!made) {
        co_return std::unexpected(ClientFault(Kind::timed_out, url + ": no answer in time"));
    }
    co_return std::move(*made);
}

}  // namespace

task::Task<ClientResult<WebSocket>> connect_websocket(Client& client, std::string url,
                                                      WebSocketConnect how) {
    const Duration limit = how.timeout;
    std::string name = url;
    if (how.cookies == nullptr) how.cookies = &client.cookies();
    return in_time(limit, std::move(name),
                   open(client.http_1_1_security(), client.proxies(), client.connect_to(),
                        std::move(url), std::move(how)));
}

task::Task<ClientResult<WebSocket>> connect_websocket(const tcp::ClientSecurity* security,
                                                      std::string url, WebSocketConnect how) {
    const Duration limit = how.timeout;
    std::string name = url;
    Proxies proxies = how.proxy_from_environment ? Proxies::from_environment() : Proxies();
    return in_time(limit, std::move(name),
                   open(security, std::move(proxies), {}, std::move(url), std::move(how)));
}

}  // namespace tiderace::http
