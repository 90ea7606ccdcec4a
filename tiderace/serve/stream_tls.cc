#include "tiderace/serve/stream_tls.h"

#include <map>
#include <memory>
#include <utility>

#include "tiderace/serve/client_layer.h"
#include "tiderace/serve/server_tls_options.h"
#include "tiderace/tls/server_context.h"

namespace tiderace::tcp {
namespace {

// The layers of one loop. Keyed by an owner and not by the address of a ClientTls, which a later
// object may have: a weak pointer keeps its control block, so that no later one is equal to it.
struct TlsLayers {
    explicit TlsLayers(task::Runner&) {}
    std::map<std::weak_ptr<const void>, ClientLayerOfFiles, std::owner_less<>> made;
};

}  // namespace

// The tickets are made here and not for each loop: all layers of it share their keys.
ServerTls::ServerTls(TlsServer tls, std::vector<std::string> protocols)
    : tls_(std::move(tls)),
      protocols_(std::move(protocols)),
      tickets_(std::make_shared<tls::TicketShare>()) {}

Result<std::shared_ptr<net::TransportLayer>> ServerTls::layer(core::EventLoop& loop) const {
    auto options = server_tls_options(tls_);
    if (!options) return fail(options.error());
    options->protocols = protocols_;
    options->tickets = tickets_;
    // A client in clear text gets no answer in HTTP: the program speaks a protocol of its own.
    options->plain_http_answer = "";
    auto context = tls::ServerContext::create(loop, std::move(*options));
    if (!context) return fail(context.error());
    return std::shared_ptr<tls::ServerContext>(std::move(*context));
}

ClientTls::ClientTls(TlsClient tls, std::vector<std::string> protocols)
    : tls_(std::move(tls)),
      protocols_(std::move(protocols)),
      token_(std::make_shared<const Token>()) {}

Result<std::shared_ptr<ClientLayer>> ClientTls::layer(task::Runner& runner) const {
    auto& layers = runner.local<TlsLayers>().made;
    // A program may make a ClientTls for each connection, and a layer is large: it holds the roots
    // of the system. Not by its destructor, which may run on any thread: the layers are the loop's.
    if (!layers.contains(token_)) {
        std::erase_if(layers, [](const auto& one) { return one.first.expired(); });
    }
    return layers[token_].get(runner.loop(), tls_, protocols_);
}

}  // namespace tiderace::tcp
