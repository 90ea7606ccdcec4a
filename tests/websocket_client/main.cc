// A WebSocket client that echoes, for servers that ask for it:
//
//   websocket_client 127.0.0.1:9001 /path [on|off|windows]
//
// says every message back until the server closes, then prints how it ended: "closed CODE REASON",
// or "refused STATUS WHY". With the path "autobahn" it runs every case of the Autobahn suite's
// fuzzing server, and has it write its report.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tiderace/http/websocket/client.h"
#include "tiderace/http/websocket/connection.h"
#include "tiderace/net/connector.h"

namespace tiderace {
namespace {

class EchoClient final : public http::WebSocketHandler {
  public:
    EchoClient(core::EventLoop& loop, core::Address to, const http::WebSocketOptions& options)
        : loop_(&loop), to_(std::move(to)), sockets_(loop, options), connector_(loop, {}) {}

    // Echoes on one socket until it ends; what it was last told, and how it ended.
    std::string run(const std::string& target) {
        ended_ = false;
        last_message_.clear();
        connector_.connect(to_, [&](Result<net::Connection*> made) {
            if (!made) return end(made.error().message());
            http::open_websocket(**made, sockets_, *this,
                                 {.authority = to_.to_string(), .target = target});
        });
        while (!ended_) loop_->turn(Duration(-1));
        return how_;
    }
    const std::string& last_message() const { return last_message_; }

  private:
    void on_message(http::WebSocketConnection& socket, http::WebSocketKind kind,
                    ByteView message) override {
        last_message_ = message.substr(0, 100);
        socket.send(kind, message);
    }
    void on_close(http::WebSocketConnection&, std::uint16_t code, ByteView reason) override {
        end("closed " + std::to_string(code) + ' ' + std::string(reason));
    }
    void on_refused(int http_status, std::string_view why) override {
        end("refused " + std::to_string(http_status) + ' ' + std::string(why));
    }
    void end(std::string how) {
        ended_ = true;
        how_ = std::move(how);
    }

    core::EventLoop* loop_;
    core::Address to_;
    http::WebSocketService sockets_;
    std::string last_message_;
    std::string how_;
    bool ended_ = false;
    net::Connector connector_;
};

void run_autobahn(EchoClient& client) {
    client.run("/getCaseCount");
    const int cases = std::atoi(client.last_message().c_str());
    for (int i = 1; i <= cases; ++i) {
        client.run("/runCase?case=" + std::to_string(i) + "&agent=tiderace");
    }
    client.run("/updateReports?agent=tiderace");
    std::printf("%d cases\n", cases);
}

int run(std::string_view where, const std::string& target, std::string_view compression) {
    const auto address = core::Address::parse(where);
    const auto loop = core::EventLoop::create({});
    if (!address || !loop) return 1;
    http::WebSocketOptions options;
    options.compression = compression != "off";
    options.deflate.server_context_takeover = compression == "windows";
    options.deflate.client_context_takeover = compression == "windows";
    EchoClient client(**loop, *address, options);
    if (target == "autobahn") {
        run_autobahn(client);
    } else {
        std::printf("%s\n", client.run(target).c_str());
    }
    return 0;
}

}  // namespace
}  // namespace tiderace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: websocket_client ADDRESS PATH [on|off|windows]\n");
        return 2;
    }
    return tiderace::run(argv[1], argv[2], argc > 3 ? argv[3] : "on");
}
