// Internal. open_websocket: a client's opening handshake on a fresh connection, TCP or TLS.
//
//   connector.connect(address, [&](Result<net::Connection*> made) {
//       if (made) http::open_websocket(**made, sockets, handler, {.authority = "a.example"});
//   });
//
// Then on_open is called, and all else as on a server; or on_refused, and nothing else.
//
// Owner    The connection is its maker's; the handler lives until on_close or on_refused.
// Thread   The loop's.
// Errors   If the server does not answer as RFC 6455, 4.2.2 requires, on_refused is called. Lack of
//          memory is thrown, and closes the connection; on_refused is called all the same, perhaps
//          before open_websocket returns.
// Limits   WebSocketClientRequest::timeout; an answer's head is at most 16 KiB.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tiderace/http/websocket/handler.h"
#include "tiderace/http/websocket/service.h"
#include "tiderace/net/connection.h"

namespace tiderace::http {

struct WebSocketClientRequest {
    std::string authority;  // of Host: "a.example", "127.0.0.1:8080"
    std::string target = "/";
    bool secure = false;              // the connection's transport is TLS
    std::string origin;               // "" for none
    std::vector<std::string> fields;  // more lines, each "Name: value"
    Duration timeout = 10s;           // from now to the answer
};

// The reason of on_refused begins so when the handshake of TLS failed.
inline constexpr std::string_view websocket_no_tls = "the TLS handshake failed";

// Starts `connection`, which is not started yet. Subprotocols and compression are offered as the
// service's options have them.
void open_websocket(net::Connection& connection, WebSocketService& service,
                    WebSocketHandler& handler, WebSocketClientRequest request) TR_ON_LOOP;

}  // namespace tiderace::http
