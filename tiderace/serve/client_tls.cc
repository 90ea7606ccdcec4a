// What makes http::Client speak https: it alone sees http and tls.
#include <memory>
#include <utility>

#include "tiderace/http/client/client.h"
#include "tiderace/serve/client_layer.h"

namespace tiderace::http {
namespace {

// Belongs to one client, and so to one loop. The first https URL creates the context.
class ClientTls final : public tcp::ClientSecurity {
  public:
    explicit ClientTls(ClientTlsOptions options) : options_(std::move(options)) {}

    Result<std::shared_ptr<tcp::ClientLayer>> layer(task::Runner& runner) const override {
        if (layer_ != nullptr) return layer_;
        auto made = tcp::make_client_layer(runner.loop(),
                                           {.verify = options_.verify,
                                            .system_roots = options_.system_roots,
                                            .ca = options_.ca,
                                            .certificate = {options_.certificate, options_.key},
                                            .protocols = {"http/1.1"},
                                            .resume = true});
        if (made) layer_ = *made;
        return made;
    }

  private:
    ClientTlsOptions options_;
    mutable std::shared_ptr<tcp::ClientLayer> layer_;
};

}  // namespace

// A copy of the options: the arguments are made in any order.
Client::Client(ClientOptions options)
    : Client(std::make_shared<ClientTls>(options.tls), ClientOptions(options)) {}

}  // namespace tiderace::http
