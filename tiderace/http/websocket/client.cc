#include "tiderace/http/websocket/client.h"

#include <algorithm>
#include <array>
#include <expected>
#include <memory>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/base/random.h"
#include "tiderace/http/websocket/connection.h"
#include "tiderace/http/wire/websocket/handshake.h"

namespace tiderace::http {
namespace {

constexpr std::string_view no_handshake = "there is no memory for the opening handshake";

// The client's offer from its service's options, and the terms of the answer.
class Offer final {
  public:
    explicit Offer(WebSocketService& service);

    // The value of Sec-WebSocket-Extensions; "" for none.
    const std::string& extensions() const { return extensions_; }
    // Once, with the answer's values. The fault: why it is none that a WebSocket can begin with.
    std::expected<WebSocketSetup, std::string_view> accept(ByteView subprotocol,
                                                           ByteView extensions);

  private:
    WebSocketService* service_;
    wire::DeflateWishes wishes_;
    std::unique_ptr<WebSocketService::Context> context_;
    std::string extensions_;
};

// Only a client that can keep a window may offer one.
Offer::Offer(WebSocketService& service) : service_(&service), wishes_(service.options().deflate) {
    if (!service.options().compression) return;
    if (wishes_.server_context_takeover || wishes_.client_context_takeover) {
        context_ = service.take_context();
    }
    if (context_ == nullptr) {
        wishes_.server_context_takeover = wishes_.client_context_takeover = false;
    }
    extensions_ = wire::deflate_offer(wishes_);
}

std::expected<WebSocketSetup, std::string_view> Offer::accept(ByteView subprotocol,
                                                              ByteView extensions) {
    const auto& offered = service_->options().subprotocols;
    if (!subprotocol.empty() && std::ranges::find(offered, subprotocol) == offered.end()) {
        return std::unexpected("a subprotocol that was not offered");
    }
    WebSocketSetup setup{.is_client = true, .subprotocol = std::string(subprotocol)};
    if (extensions.empty()) return setup;
    if (service_->options().compression) {
        setup.deflate = wire::accept_deflate_answer(extensions, wishes_);
    }
    if (!setup.deflate) return std::unexpected("an extension that was not offered");
    if (!setup.deflate->stands_alone()) setup.context = std::move(context_);
    return setup;
}

// Owns itself, until the answer or the connection's end.
class ClientHandshake final : public net::Session {
  public:
    ClientHandshake(WebSocketService& service, WebSocketHandler& handler)
        : service_(&service), handler_(&handler), offer_(service) {
        std::array<unsigned char, 16> random;
        secure_random(random);
        key_ = wire::websocket_key(random);
    }

    void ask(net::Connection& connection, const WebSocketClientRequest& request) TR_ON_LOOP {
        connection.write(wire::websocket_request({.authority = request.authority,
                                                  .target = request.target,
                                                  .key = key(),
                                                  .origin = request.origin,
                                                  .subprotocols = service_->options().subprotocols,
                                                  .extensions = offer_.extensions(),
                                                  .fields = request.fields}));
        connection.set_deadline(moment_after(service_->loop().now(), request.timeout));
        // Until on_secured: an end before that is a fault of the TLS handshake.
        if (request.secure) why_ = websocket_no_tls;
    }

  private:
    static constexpr std::string_view no_answer = "the connection ended before the answer";

    ByteView key() const { return {key_.data(), key_.size()}; }

    void on_secured(net::Connection&) override { why_ = no_answer; }

    std::size_t on_data(net::Connection& connection, ByteView data) TR_ON_LOOP override {
        const wire::WebSocketAnswer answer =
            wire::parse_websocket_answer(data, key(), service_->options().subprotocols);
        if (answer.status == wire::ParseStatus::need_more) return 0;
        if (answer.status == wire::ParseStatus::refused) {
            return refuse(connection, answer.http_status, answer.why), data.size();
        }
        auto setup = offer_.accept(answer.subprotocol, answer.extensions);
        if (!setup) return refuse(connection, answer.http_status, setup.error()), data.size();
        auto* socket = new WebSocketConnection(*service_, connection, *handler_, std::move(*setup));
        connection.replace_session(*socket);
        // `answer` holds views into `data`, not into this.
        delete this;
        socket->open();
        return answer.bytes;
    }

    // The handler learns of it in on_close, which comes in any case, so that it is notified once.
    void refuse(net::Connection& connection, int http_status, std::string_view why) TR_ON_LOOP {
        http_status_ = http_status;
        why_ = why;
        connection.close(net::CloseReason::aborted);
    }

    void on_deadline(net::Connection& connection) TR_ON_LOOP override {
        why_ = "no answer in time";
        connection.close(net::CloseReason::deadline_expired);
    }

    void on_close(net::Connection& connection, net::CloseReason) TR_ON_LOOP override {
        const std::unique_ptr<ClientHandshake> last(this);
        if (why_ == websocket_no_tls) {
            return handler_->on_refused(http_status_, connection.handshake_failure());
        }
        handler_->on_refused(http_status_, why_);
    }

    WebSocketService* service_;
    WebSocketHandler* handler_;
    Offer offer_;
    wire::WebSocketKey key_;
    int http_status_ = 0;
    std::string_view why_ = no_answer;
};

}  // namespace

void open_websocket(net::Connection& connection, WebSocketService& service,
                    WebSocketHandler& handler, WebSocketClientRequest request) {
    ClientHandshake* handshake = nullptr;
    try {
        handshake = new ClientHandshake(service, handler);
        connection.start(*handshake);  // which owns it from here on
        handshake->ask(connection, request);
    } catch (...) {
        connection.close(net::CloseReason::session_failed);  // maybe after half a request
        // Without a session, no on_close of the connection's reports it.
        if (handshake == nullptr) handler.on_refused(0, no_handshake);
        throw;
    }
}

}  // namespace tiderace::http
