// connect_websocket: a WebSocket to a server, with the face that an App's handlers have.
//
//   Task<> listen_in(std::string url) {                        // "wss://a.example/room"
//       auto socket = co_await connect_websocket(url);
//       if (!socket) co_return report(socket.error().message);
//       co_await socket->send("hello");
//       while (auto message = co_await socket->receive()) use(message->text());
//   }                                                          // the end of `socket`: close 1000
//
// The socket has a connection of its own, over HTTP/1.1. The server is verified over TLS, and its
// answer is checked by RFC 6455, 4.1. Messages are masked, and compressed where the server agrees.
// Silent servers get pings. A redirect is not followed.
//
// Owner    The task owns the socket; the loop's Runner the connection, until its closing handshake
//          is over, or close_timeout has passed.
// Thread   The loop's. Cancelling the task gives up what was begun; so does its deadline.
// Errors   A ClientFault: bad_request (no ws or wss URL, fields that no message may hold), connect,
//          tls, timed_out, closed (no answer), bad_answer (another answer than a WebSocket's; the
//          message has its status).
// Limits   WebSocketConnect. An answer's head is at most 16 KiB.
// Memory   As a server's socket. Sockets with the same options share compressors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tiderace/http/client/client.h"
#include "tiderace/http/client/client_fault.h"
#include "tiderace/http/client/cookie_jar.h"
#include "tiderace/http/client/headers.h"
#include "tiderace/http/websocket/service.h"
#include "tiderace/http/websocket/socket.h"
#include "tiderace/task/task.h"
#include "tiderace/tcp/security.h"
#include "tiderace/tcp/tls.h"

namespace tiderace::http {

// How to connect. No aggregate, so that a temporary one may stand in a co_await (g++ 12).
struct WebSocketConnect {
    WebSocketConnect() {}  // NOLINT: see above

    std::vector<std::string> subprotocols;  // offered, the one we like best first
    Headers headers;                        // more of the request: Authorization …
    std::string origin;                     // "" for none: what is no browser has none
    const CookieJar* cookies = nullptr;     // those for this URL are sent; outlives the call

    Duration timeout = 30s;  // from the name to the server's answer
    // As a server's (WebSocketOptions).
    std::size_t message_bytes_max = WebSocketOptions{}.message_bytes_max;
    Duration ping_interval = WebSocketOptions{}.ping_interval;
    Duration pong_timeout = WebSocketOptions{}.pong_timeout;
    Duration close_timeout = WebSocketOptions{}.close_timeout;
    bool compression = WebSocketOptions{}.compression;
    bool proxy_from_environment = true;  // HTTP_PROXY, HTTPS_PROXY (proxy.h), by CONNECT
    TlsClient tls;
};

// (Of tiderace::client.)
task::Task<ClientResult<WebSocket>> connect_websocket(std::string url, WebSocketConnect how = {});

// By a client: with its cookies (unless `how` has others), its proxies and its TLS; `how.tls` and
// `how.proxy_from_environment` are ignored. The client outlives the call.
task::Task<ClientResult<WebSocket>> connect_websocket(Client& client, std::string url,
                                                      WebSocketConnect how = {});

// With TLS of one's own, which agrees on no other protocol than http/1.1 and outlives the call;
// nullptr: ws alone.
task::Task<ClientResult<WebSocket>> connect_websocket(const tcp::ClientSecurity* security,
                                                      std::string url, WebSocketConnect how = {});

}  // namespace tiderace::http
