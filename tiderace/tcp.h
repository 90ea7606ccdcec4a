// TCP: servers and clients over byte streams, as callbacks or as coroutines.
//
//     #include <tiderace/tcp.h>
//
//     #include <string>
//
//     using namespace tiderace;
//
//     Task<> session(tcp::Stream stream) {
//         while (auto line = co_await stream.read(tcp::Line{})) {
//             if (*line == "quit") co_return;
//             co_await stream.write(std::string(*line) + "!\n");
//         }
//     }
//
//     int main() {
//         return tcp::serve(":7000", session);  // all cores; SIGTERM and SIGINT drain
//     }
//
// An echo as callbacks, and a client:
//
//   tcp::Server(":7").on_data([](tcp::Peer& peer, ByteView in) { peer.write(in); }).run();
//   auto stream = co_await tcp::connect("example.org:7000", {.attempts = 3});
//
// Link `tiderace::tcp`. Each header below says more: owner, thread, errors, limits. docs/tcp.md is
// the guide. Also for servers, but not included here:
//   serve/stream_tls.h, tcp/tls.h                            TLS
//   serve/tcp_service.h                                      a handler beside an http::App
//   net/connection.h  net/serving.h                          net::Session, below the streams
//   base/lru_cache.h  base/keyed_hash.h  base/random.h       what servers keep in memory
#pragma once

#include "tiderace/task.h"
#include "tiderace/task/states.h"          // LoopStates: what handlers take by type
#include "tiderace/task/topic_listener.h"  // TopicQueue, TopicListener
#include "tiderace/task/topics.h"          // Topics: one to many
#include "tiderace/tcp/connect.h"
#include "tiderace/tcp/framing.h"
#include "tiderace/tcp/serve.h"
#include "tiderace/tcp/server.h"
#include "tiderace/tcp/stream.h"
#include "tiderace/tcp/stream_options.h"
