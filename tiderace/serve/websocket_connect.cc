// What makes connect_websocket verify wss: it alone sees http and tls.
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tiderace/http/client/websocket/connect.h"
#include "tiderace/serve/client_layer.h"

namespace tiderace::http {
namespace {

// TLS with these options. The layers are the loop's.
class SocketTls final : public tcp::ClientSecurity {
  public:
    explicit SocketTls(TlsClient tls) : tls_(std::move(tls)) {}

    Result<std::shared_ptr<tcp::ClientLayer>> layer(task::Runner& runner) const override {
        auto& kept = runner.local<Layers>().made[tls_];
        // The handshake is HTTP/1.1's: a server that may choose would choose HTTP/2.
        return kept.get(runner.loop(), tls_, {"http/1.1"});
    }

  private:
    struct Layers {
        explicit Layers(task::Runner&) {}
        std::map<TlsClient, tcp::ClientLayerOfFiles> made;  // as many as a program has options
    };

    TlsClient tls_;
};

// A task of its own, whose frame keeps the security until the socket is there.
task::Task<ClientResult<WebSocket>> connect_with(std::string url, WebSocketConnect how) {
    const SocketTls security(how.tls);
    co_return co_await connect_websocket(&security, std::move(url), std::move(how));
}

}  // namespace

task::Task<ClientResult<WebSocket>> connect_websocket(std::string url, WebSocketConnect how) {
    return connect_with(std::move(url), std::move(how));
}

}  // namespace tiderace::http
