// What makes http::Client speak https: it alone sees http and tls.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/client/client.h"
#include "tiderace/serve/client_layer.h"

namespace tiderace::http {
namespace {

// Belongs to one client, and so to one loop. The first https URL creates the context.
class ClientTls final : public tcp::ClientSecurity {
  public:
    ClientTls(TlsClient tls, ClientVersions versions) : tls_(std::move(tls)), versions_(versions) {}

    Result<std::shared_ptr<tcp::ClientLayer>> layer(task::Runner& runner) const override {
        return layer_.get(runner.loop(), tls_, protocols());
    }

  private:
    // ALPN, best first.
    std::vector<std::string> protocols() const {
        if (versions_ == ClientVersions::http_1_1) return {"http/1.1"};
        if (versions_ == ClientVersions::http_2) return {"h2"};
        return {"h2", "http/1.1"};
    }

    TlsClient tls_;
    ClientVersions versions_;
    mutable tcp::ClientLayerOfFiles layer_;
};

}  // namespace

// The second security is for servers that answer HTTP_1_1_REQUIRED (RFC 9113, 7). A copy of the
// options: the arguments are made in any order.
Client::Client(ClientOptions options)
    : Client(std::make_shared<ClientTls>(options.tls, options.versions), ClientOptions(options),
             std::make_shared<ClientTls>(options.tls, ClientVersions::http_1_1)) {}

}  // namespace tiderace::http
