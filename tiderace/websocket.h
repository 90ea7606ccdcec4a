// WebSockets: a task for each.
//
//     #include <tiderace/app.h>
//     #include <tiderace/websocket.h>
//
//     #include <string>
//
//     tiderace::http::App make_app() {
//         using namespace tiderace;
//         using namespace tiderace::http;
//         App app;
//         app.ws<"/echo">([](WebSocket& socket) -> Task<> {
//             while (auto message = co_await socket.receive()) co_await socket.send(*message);
//         });
//         app.state<Topics>(topics());
//         app.ws<"/rooms/{name}">([](WebSocket& socket, std::string name, Topics& all) -> Task<> {
//             socket.join(all, name);
//             while (auto message = co_await socket.receive()) all.publish(name, *message);
//         });
//         app.post<"/rooms/{name}">([](std::string name, Body body, Topics& all) {
//             all.publish(name, body.text());
//         });
//         return app;
//     }
//
// The task ends the socket by returning; when the peer is gone, receive() gives nothing and send()
// is false. Over HTTP/1.1 a socket has the connection to itself; over HTTP/2 (RFC 8441) it is one
// stream. A page of another origin is refused, unless WebSocketOptions::origins has it.
//
// Link `tiderace::app`. Each header below says more: owner, thread, errors, limits. Callbacks
// without a task, as in examples/echo: http/websocket/accept.h and http/websocket/connection.h,
// served by http/h1/service.h and http/h2/service.h.
#pragma once

#include "tiderace/http/app/websocket/socket_endpoint.h"  // what a handler may take; how it ends
#include "tiderace/http/app/websocket/topic_events.h"     // events(): a topic for pages
#include "tiderace/http/websocket/service.h"              // WebSocketOptions
#include "tiderace/http/websocket/socket.h"               // WebSocket
#include "tiderace/task/topic_listener.h"                 // followers of your own
#include "tiderace/task/topics.h"                         // Topics: one to many
