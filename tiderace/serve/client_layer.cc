#include "tiderace/serve/client_layer.h"

#include <utility>

#include "tiderace/log/logger.h"
#include "tiderace/tls/client_context.h"

namespace tiderace::tcp {
namespace {

class TlsLayer final : public ClientLayer {
  public:
    explicit TlsLayer(std::unique_ptr<tls::ClientContext> context) : context_(std::move(context)) {}

    std::unique_ptr<net::Transport> wrap(std::unique_ptr<net::Transport> below,
                                         const std::string& host) override {
        return context_->wrap(std::move(below), host);
    }

  private:
    std::unique_ptr<tls::ClientContext> context_;
};

Result<std::shared_ptr<ClientLayer>> make_client_layer(core::EventLoop& loop,
                                                       tls::ClientOptions options) {
    auto context = tls::ClientContext::create(loop, std::move(options));
    if (!context) return fail(context.error());
    return std::make_shared<TlsLayer>(std::move(*context));
}

}  // namespace

Result<std::shared_ptr<ClientLayer>> ClientLayerOfFiles::get(
    core::EventLoop& loop, const TlsClient& tls, const std::vector<std::string>& protocols) {
    const tls::ClientOptions options{
        .verify = tls.verify,
        .system_roots = tls.system_roots,
        .ca = tls.ca,
        .certificate = {tls.certificate.certificate, tls.certificate.key},
        .protocols = protocols,
        .resume = true};
    // Before they are read: what changes meanwhile is seen the next time.
    std::string look = tls::ClientContext::look_at_files(options);
    if (layer_ != nullptr && look == look_) return layer_;
    auto made = make_client_layer(loop, options);
    if (made) {
        layer_ = *made;
        look_ = std::move(look);
        return made;
    }
    // The first time a failure is not kept: a file that was missing may be there the next time.
    if (layer_ == nullptr) return made;
    // A certificate may be there before its key is.
    if (look != refused_look_ && loop.log() != nullptr) {
        loop.log()->warning("tls", "the client's new files are not usable, the old ones stay",
                            log::field("why", made.error().message()));
    }
    refused_look_ = std::move(look);
    return layer_;
}

}  // namespace tiderace::tcp
