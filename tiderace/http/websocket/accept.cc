#include "tiderace/http/websocket/accept.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/http/websocket/connection.h"

namespace tiderace::http {
namespace {

using wire::FieldName;
using wire::WebSocketCarrier;
using wire::WebSocketRefusal;

// Over HTTP/2 it is an extended CONNECT (RFC 8441, 5).
WebSocketCarrier carrier_of(const Request& request) {
    return request.protocol.empty() ? WebSocketCarrier::http1 : WebSocketCarrier::http2;
}

bool lets_in(const Request& request, const WebSocketOptions& options) {
    const wire::Field* origin = request.head->find(FieldName::origin);
    // Only browsers send Origin. The check protects their users from other sites' scripts; a client
    // without one could claim any.
    if (origin == nullptr) return true;
    if (request.head->repeated(FieldName::origin)) return false;
    if (options.origin_allowed) return options.origin_allowed(origin->value, request);
    if (options.origins.empty()) {
        return wire::is_same_origin(origin->value, request.authority, request.secure);
    }
    return std::ranges::any_of(options.origins, [&](const std::string& allowed) {
        return allowed == "*" || equals_ignoring_case(allowed, origin->value);
    });
}

WebSocketRefusal judge(const Request& request, const WebSocketOptions& options) {
    if (!request.protocol.empty() && request.protocol != "websocket") {
        return WebSocketRefusal::not_asked_for;
    }
    const WebSocketRefusal refusal =
        wire::judge_websocket_request(*request.head, carrier_of(request));
    if (refusal != WebSocketRefusal::none) return refusal;
    return lets_in(request, options) ? WebSocketRefusal::none : WebSocketRefusal::bad_origin;
}

void refuse(Exchange& exchange, WebSocketRefusal refusal) {
    Response response(wire::status_for(refusal));
    // HTTP/2 has no Upgrade field (RFC 9113, 8.2.2).
    if (response.status() == 426 && exchange.request().version != HttpVersion::http_2) {
        response.add(FieldName::upgrade, "websocket");
        response.add(FieldName::sec_websocket_version, "13");
    }
    response.add(FieldName::content_type, "text/plain; charset=utf-8");
    response.set_body(std::string(wire::to_string(refusal)) + '\n');
    exchange.respond(response);
}

void agree_on_deflate(const Request& request, WebSocketService& service, WebSocketSetup& setup) {
    const WebSocketOptions& options = service.options();
    if (!options.compression) return;
    setup.deflate = wire::agree_on_deflate(*request.head, options.deflate);
    if (!setup.deflate || setup.deflate->stands_alone()) return;
    setup.context = service.take_context();
    if (setup.context != nullptr) return;
    // No more windows to give: each message stands alone, which any client must take.
    setup.deflate->server_no_context_takeover = setup.deflate->client_no_context_takeover = true;
}

}  // namespace

bool asks_for_websocket(const Request& request) {
    return request.protocol == "websocket" ||
           (request.protocol.empty() && wire::names_websocket(request.header(FieldName::upgrade)));
}

WebSocketRefusal accept_websocket(Exchange& exchange, WebSocketService& service,
                                  WebSocketHandler& handler) {
    const Request& request = exchange.request();
    if (const WebSocketRefusal refusal = judge(request, service.options());
        refusal != WebSocketRefusal::none) {
        refuse(exchange, refusal);
        return refusal;
    }
    Response response;  // upgrade() sets the status that its protocol has for this
    WebSocketSetup setup;
    setup.tree = exchange.tree();
    wire::WebSocketAccept accept;
    // Over HTTP/2 the extended CONNECT itself proves that the peer means a WebSocket: there is no
    // key (RFC 8441, 5).
    if (carrier_of(request) == WebSocketCarrier::http1) {
        accept = wire::websocket_accept(request.header(FieldName::sec_websocket_key));
        response.add(FieldName::upgrade, "websocket");
        response.add(FieldName::sec_websocket_accept, ByteView(accept.data(), accept.size()));
    }
    setup.subprotocol = wire::choose_subprotocol(*request.head, service.options().subprotocols);
    if (!setup.subprotocol.empty()) {
        response.add(FieldName::sec_websocket_protocol, response.keep(setup.subprotocol));
    }
    agree_on_deflate(request, service, setup);
    if (setup.deflate) {
        response.add(FieldName::sec_websocket_extensions,
                     response.keep(wire::format_deflate_terms(*setup.deflate)));
    }
    // False where the connection cannot become another one: a body is still coming, or the request
    // lacks "Connection: upgrade".
    const bool taken = exchange.upgrade(
        response,
        [&service, &handler,
         setup = std::move(setup)](net::Connection& connection) mutable -> net::Session& {
            service.loop().assert_on_loop();
            auto* socket = new WebSocketConnection(service, connection, handler, std::move(setup));
            socket->open();
            return *socket;
        });
    if (taken) return WebSocketRefusal::none;
    refuse(exchange, WebSocketRefusal::not_asked_for);
    return WebSocketRefusal::not_asked_for;
}

}  // namespace tiderace::http
