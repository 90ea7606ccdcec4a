// HTTP requests from a task.
//
//     #include <tiderace/client.h>
//
//     #include <cstdio>
//     #include <string>
//
//     struct User { int id; std::string name; };
//
//     tiderace::Task<int> show(std::string url) {
//         tiderace::http::Client client;
//         auto answer = co_await client.get(url);
//         if (!answer) {
//             std::puts(answer.error().message.c_str());
//             co_return 1;
//         }
//         std::puts(answer->text().c_str());
//
//         const User ann{7, "ann"};
//         auto made = co_await client.post(url, ann);    // JSON
//         co_return made && made->status == 201 ? 0 : 1;
//     }
//
//     int main() {
//         return tiderace::run(show("http://127.0.0.1:1/users"));
//     }
//
// One Client for each loop keeps connections, and is best a state of the App:
//   app.state<Client>([](core::EventLoop&) { return std::make_unique<Client>(); });
//
// Server-sent events: http/client/event_reader.h. Forms with files: http/client/multipart_form.h.
// Retries: http/client/retry.h. Metrics: http/client/client_metrics.h.
//
// https is verified. Redirects, compressed bodies, proxies and time-outs are dealt with: see
// http/client/client.h. Link `tiderace::client`.
#pragma once

#include "tiderace/http/client/client.h"
#include "tiderace/http/client/event_reader.h"
#include "tiderace/http/client/websocket/connect.h"
#include "tiderace/task.h"
