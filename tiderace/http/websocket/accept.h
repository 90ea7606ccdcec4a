// accept_websocket: answers a request for a WebSocket, over HTTP/1.1 and over HTTP/2.
//
//   void handle(Exchange& exchange) override {
//       http::accept_websocket(exchange, sockets, echo);
//   }
//
// Thread   The loop's, from a handler.
// Errors   A request that is malformed, or comes from an origin that is refused, is answered with
//          its status and a sentence; the refusal names the fault.
// Keywords: upgrade, 101, subprotocol, Origin
#pragma once

#include "tiderace/http/exchange.h"
#include "tiderace/http/websocket/handler.h"
#include "tiderace/http/websocket/service.h"
#include "tiderace/http/wire/websocket/handshake.h"

namespace tiderace::http {

// The exchange is answered when this returns. With `none`, handler.on_open was called.
wire::WebSocketRefusal accept_websocket(Exchange& exchange, WebSocketService& service,
                                        WebSocketHandler& handler);

// For a handler that serves pages at the same address, too.
bool asks_for_websocket(const Request& request);

}  // namespace tiderace::http
