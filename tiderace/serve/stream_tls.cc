#include "tiderace/serve/stream_tls.h"

#include <atomic>
#include <map>
#include <utility>

#include "tiderace/serve/client_layer.h"
#include "tiderace/tls/server_context.h"

namespace tiderace::tcp {
namespace {

// The layers of one loop, by the number of their ClientTls, because a later object may have the
// address of an earlier one.
struct TlsLayers {
    explicit TlsLayers(task::Runner&) {}
    std::map<std::uint64_t, std::shared_ptr<ClientLayer>> made;
};

std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
}

}  // namespace

ServerTls::ServerTls(PemFiles files)
    : ServerTls(ServerTlsOptions{.certificates = {std::move(files)}}) {}

// The tickets are made here and not for each loop: all layers of it share their keys.
ServerTls::ServerTls(ServerTlsOptions options)
    : options_(std::move(options)), tickets_(std::make_shared<tls::TicketShare>()) {}

Result<std::shared_ptr<net::TransportLayer>> ServerTls::layer(core::EventLoop& loop) const {
    // No answer in HTTP to a client in clear text: what is spoken here is the program's.
    tls::ServerOptions options{
        .protocols = options_.protocols, .tickets = tickets_, .plain_http_answer = ""};
    for (const PemFiles& files : options_.certificates) {
        options.certificates.push_back({.certificate = files.certificate, .key = files.key});
    }
    if (!options_.client_ca.empty()) {
        options.client_ca = options_.client_ca;
        options.client_certificates = options_.client_required ? tls::ClientCertificates::required
                                                               : tls::ClientCertificates::optional;
    }
    auto context = tls::ServerContext::create(loop, std::move(options));
    if (!context) return fail(context.error());
    return std::shared_ptr<tls::ServerContext>(std::move(*context));
}

ClientTls::ClientTls(ClientTlsOptions options) : options_(std::move(options)), id_(next_id()) {}

Result<std::shared_ptr<ClientLayer>> ClientTls::layer(task::Runner& runner) const {
    auto& layer = runner.local<TlsLayers>().made[id_];
    if (layer != nullptr) return layer;
    auto made = make_client_layer(runner.loop(),
                                  {.system_roots = options_.system_roots,
                                   .ca = options_.ca,
                                   .certificate = {.certificate = options_.certificate.certificate,
                                                   .key = options_.certificate.key},
                                   .protocols = options_.protocols,
                                   .resume = true});
    if (made) layer = *made;
    return made;
}

}  // namespace tiderace::tcp
