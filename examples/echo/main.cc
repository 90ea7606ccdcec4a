// echo: what comes in goes out, over TCP and over WebSocket, in one small program.
//
//   echo --tcp 127.0.0.1:7000 --websocket 127.0.0.1:7001 [--threads N]
//        [--compression off|on|windows]
//
// It prints where it listens, and runs until SIGINT or SIGTERM.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/serving.h"
#include "tiderace/http/h1_service.h"
#include "tiderace/http/h2_service.h"
#include "tiderace/http/websocket_accept.h"
#include "tiderace/http/websocket_connection.h"
#include "tiderace/net/loop_group.h"
#include "tiderace/net/tcp_server.h"

namespace tiderace::echo {
namespace {

using examples::die;
using examples::take;

struct Options {
    std::string tcp = "127.0.0.1:0";
    std::string websocket = "127.0.0.1:0";
    std::size_t threads = 1;
    http::WebSocketOptions sockets{.origins = {"*"}};
};

// --- the two protocols -----------------------------------------------------------------------

class TcpEcho final : public net::SessionFactory, private net::Session {
    net::Session& make_session(net::Connection&) override { return *this; }
    std::size_t on_data(net::Connection& connection, ByteView data) override {
        connection.write(data);
        return data.size();
    }
    void on_close(net::Connection&, net::CloseReason) override {}
};

class WebSocketEcho final : public http::Handler, private http::WebSocketHandler {
  public:
    WebSocketEcho(core::EventLoop& loop, const http::WebSocketOptions& options)
        : sockets_(loop, options) {}

  private:
    void handle(http::Exchange& exchange) override {
        http::accept_websocket(exchange, sockets_, *this);
    }
    void on_message(http::WebSocketConnection& socket, http::WebSocketKind kind,
                    ByteView message) override {
        socket.send(kind, message);
    }
    void on_close(http::WebSocketConnection&, std::uint16_t, ByteView) override {}

    http::WebSocketService sockets_;
};

// What one loop serves with. Loops share nothing.
struct EchoLoop {
    EchoLoop(core::EventLoop& loop, const Options& options)
        : websocket_echo(loop, options.sockets),
          site(websocket_echo),
          http(loop, site, {}),
          http2(loop, site, {.head = {.extended_connect = true}}),
          tcp(loop, tcp_echo, {.connections_max = 100'000}),
          websocket(loop, http, {.connections_max = 100'000}) {
        http.set_http2(http2);
    }

    TcpEcho tcp_echo;
    WebSocketEcho websocket_echo;
    http::Site site;
    http::H1Service http;
    http::H2Service http2;
    net::TcpServer tcp;
    net::TcpServer websocket;
};

// --- the program -----------------------------------------------------------------------------

void set_compression(http::WebSocketOptions& options, std::string_view text) {
    if (text != "off" && text != "on" && text != "windows") {
        die("--compression is off, on, or windows (each socket keeps its own)");
    }
    options.compression = text != "off";
    options.deflate.server_context_takeover = text == "windows";
    options.deflate.client_context_takeover = text == "windows";
}

Options parse(const std::vector<std::string_view>& words) {
    Options options;
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        const std::string_view value = words[i + 1];
        if (words[i] == "--tcp") {
            options.tcp = value;
        } else if (words[i] == "--websocket") {
            options.websocket = value;
        } else if (words[i] == "--threads") {
            options.threads = examples::parse_threads(value);
        } else if (words[i] == "--compression") {
            set_compression(options.sockets, value);
        } else {
            die("unknown flag " + std::string(words[i]));
        }
    }
    if (words.size() % 2 != 0) {
        die("flags: --tcp ADDRESS --websocket ADDRESS --threads N --compression off|on|windows");
    }
    return options;
}

void run(const Options& options) {
    core::Signals signals = examples::prepare_process();
    const auto group = take(net::LoopGroup::create(options.threads, {}));
    const examples::StopOnSignal stop(*group, std::move(signals));
    std::vector<std::unique_ptr<EchoLoop>> loops;
    std::vector<net::TcpServer*> tcp_servers;
    std::vector<net::TcpServer*> websocket_servers;
    for (std::size_t i = 0; i < group->size(); ++i) {
        loops.push_back(std::make_unique<EchoLoop>(group->loop(i), options));
        tcp_servers.push_back(&loops.back()->tcp);
        websocket_servers.push_back(&loops.back()->websocket);
    }
    const core::Address tcp = examples::listen(tcp_servers, options.tcp);
    const core::Address websocket = examples::listen(websocket_servers, options.websocket);
    std::printf("tcp %s\nwebsocket ws://%s/\n", tcp.to_string().c_str(),
                websocket.to_string().c_str());
    std::fflush(stdout);
    group->run();
}

}  // namespace
}  // namespace tiderace::echo

int main(int argc, char** argv) {
    tiderace::echo::run(tiderace::echo::parse({argv + 1, argv + argc}));
    return 0;
}
