// What makes connect_websocket verify wss: it alone sees http and tls.
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "tiderace/http/client/websocket/connect.h"
#include "tiderace/serve/client_layer.h"

namespace tiderace::http {
namespace {

// TLS with these options. The layers are the loop's.
class SocketTls final : public tcp::ClientSecurity {
  public:
    explicit SocketTls(ClientTlsOptions options) : options_(std::move(options)) {}

    Result<std::shared_ptr<tcp::ClientLayer>> layer(task::Runner& runner) const override {
        auto& layers = runner.local<Layers>().made;
        auto& kept = layers[{options_.verify, options_.system_roots, options_.ca,
                             options_.certificate, options_.key}];
        // The handshake is HTTP/1.1's: a server that may choose would choose HTTP/2.
        return kept.get(runner.loop(), {.verify = options_.verify,
                                        .system_roots = options_.system_roots,
                                        .ca = options_.ca,
                                        .certificate = {options_.certificate, options_.key},
                                        .protocols = {"http/1.1"},
                                        .resume = true});
    }

  private:
    using Key = std::tuple<bool, bool, std::string, std::string, std::string>;
    struct Layers {
        explicit Layers(task::Runner&) {}
        std::map<Key, tcp::ClientLayerOfFiles> made;  // as many as a program has options
    };

    ClientTlsOptions options_;
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
