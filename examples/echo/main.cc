// echo: what comes in goes out, over TCP and over WebSocket, in one small program.
//
//   echo --tcp 127.0.0.1:7000 --websocket 127.0.0.1:7001 [--threads N]
//        [--compression off|on|windows]
//
// It prints where it listens, and runs until SIGINT or SIGTERM.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/http/h1/service.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/http/websocket/accept.h"
#include "tiderace/http/websocket/connection.h"
#include "tiderace/net/serving.h"

namespace tiderace::echo {
namespace {

// Places in ServingOptions::listen.
enum Place : std::size_t { tcp_place, websocket_place };

struct Options {
    std::string tcp = "127.0.0.1:0";
    std::string websocket = "127.0.0.1:0";
    std::size_t threads = 1;
    // An echo has no secrets, so any page may use it.
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

// The parts of one loop's service. Loops share nothing.
class EchoLoop final : public net::LoopService {
  public:
    EchoLoop(core::EventLoop& loop, const Options& options)
        : websocket_echo_(loop, options.sockets),
          site_(websocket_echo_),
          http_(loop, site_, {}),
          // A WebSocket over HTTP/2 is an extended CONNECT (RFC 8441).
          http2_(loop, site_, {.head = {.extended_connect = true}}) {
        http_.set_http2(http2_);
    }

  private:
    net::SessionFactory& sessions(std::size_t place) override {
        if (place == tcp_place) return tcp_echo_;
        return http_;
    }

    TcpEcho tcp_echo_;
    WebSocketEcho websocket_echo_;
    http::SiteLoop site_;
    http::H1Service http_;
    http::H2Service http2_;
};

// --- the program -----------------------------------------------------------------------------

[[noreturn]] void die(const std::string& sentence) {
    std::fprintf(stderr, "echo: %s\n", sentence.c_str());
    std::exit(1);
}

std::size_t parse_threads(std::string_view text) {
    std::size_t threads = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), threads);
    if (fault == std::errc{} && end == text.data() + text.size() && threads <= 64) return threads;
    die("--threads takes a number up to 64; 0: one for each CPU");
}

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
            options.threads = parse_threads(value);
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

int run(const Options& options) {
    net::Serving serving({
        .program = "echo",
        .listen = {options.tcp, options.websocket},
        .threads = options.threads,
        .on_listening =
            [](const std::vector<core::Address>& addresses) {
                std::printf("tcp %s\nwebsocket ws://%s/\n",
                            addresses[tcp_place].to_string().c_str(),
                            addresses[websocket_place].to_string().c_str());
                std::fflush(stdout);
            },
    });
    return serving.run(
        [&](core::EventLoop& loop) { return std::make_unique<EchoLoop>(loop, options); });
}

}  // namespace
}  // namespace tiderace::echo

int main(int argc, char** argv) {
    return tiderace::echo::run(tiderace::echo::parse({argv + 1, argv + argc}));
}
