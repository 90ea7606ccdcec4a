#include "server/live/side_server.h"

#include <utility>

#include "server/worker.h"
#include "tiderace/core/kernel.h"
#include "tiderace/http/exchange.h"
#include "tiderace/net/listener.h"
#include "tiderace/net/serving_defaults.h"

namespace tiderace::server {
namespace {

// Its few connections are for the clients that have something to ask.
constexpr Duration patience = 5s;

}  // namespace

SideServer::SideServer(core::EventLoop& loop, http::Handler& handler)
    : site_(handler),
      http_(loop, site_,
            serve::HttpOptions{.message = {.header_timeout = patience,
                                           .body_timeout = patience,
                                           .idle_timeout = patience},
                               .http2 = false}),
      server_(loop, http_.sessions(),
              net::TcpServerOptions{.connections_max = connections_max, .refusal = busy_answer()}) {
}

Result<> SideServer::start(const core::Descriptor& socket) {
    return net::start_listening(core::system_kernel(), socket, net::ServingDefaults::backlog);
}

void SideServer::listen(core::Descriptor socket) {
    stop_listening();
    server_.listen(std::move(socket), nullptr, ++listening_);
}

void SideServer::stop_listening() {
    if (listening_ > 0) server_.stop_listening(listening_);
}

void SideServer::drain(Instant deadline, unique_function<void()> done) {
    server_.drain(deadline, std::move(done));
}

void answer(http::Exchange& exchange, int status, std::string_view type, std::string text) {
    http::Response response(status);
    response.add(http::wire::FieldName::content_type, type);
    response.add(http::wire::FieldName::cache_control, "no-store");
    response.set_body(std::move(text));
    exchange.respond(response);
}

void refuse_method(http::Exchange& exchange, std::string_view allowed) {
    http::Response response(405);
    response.add(http::wire::FieldName::allow, allowed);
    exchange.respond(response);
}

}  // namespace tiderace::server
