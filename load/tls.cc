#include "load/tls.h"

namespace tiderace::load {

Result<std::unique_ptr<LoadTls>> LoadTls::create(core::EventLoop& loop, const LoadOptions& options,
                                                 const LoadTarget& target) {
    tls::ClientOptions wanted{.verify = !options.insecure,
                              .ca = options.ca,
                              .certificate = {},
                              .protocols = {},
                              .resume = options.resume,
                              .handshake_timeout = options.timeout};
    // One protocol, so that the server has no choice: a run has the requested version or fails
    // (LoadConnection::on_secured()).
    // HTTP/1.0 offers nothing by ALPN, as its clients do.
    if (options.http == LoadHttp::v2) wanted.protocols = {"h2"};
    if (options.http == LoadHttp::v1_1) wanted.protocols = {"http/1.1"};
    auto context = tls::ClientContext::create(loop, std::move(wanted));
    if (!context) return fail(context.error());
    return std::unique_ptr<LoadTls>(new LoadTls(std::move(*context), target.name));
}

}  // namespace tiderace::load
