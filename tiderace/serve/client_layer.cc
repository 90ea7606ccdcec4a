#include "tiderace/serve/client_layer.h"

#include <utility>

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

}  // namespace

Result<std::shared_ptr<ClientLayer>> make_client_layer(core::EventLoop& loop,
                                                       tls::ClientOptions options) {
    auto context = tls::ClientContext::create(loop, std::move(options));
    if (!context) return fail(context.error());
    return std::make_shared<TlsLayer>(std::move(*context));
}

}  // namespace tiderace::tcp
