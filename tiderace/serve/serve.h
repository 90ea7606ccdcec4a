// serve: an App on the network: all loops, HTTP/1.1 and HTTP/2, TLS, signals, an orderly end.
//
//   return app.serve({.listen = ":8080"});
//   return app.serve({.listen = {":80", "unix:/run/app.sock"}, .threads = 4, .access_log = "-"});
//   return app.serve({.listen = {":443", "http://:80"},
//                     .tls = {.certificates = {{"cert.pem", "key.pem"}}}});
//
// It prints where it listens. SIGTERM, SIGINT and App::drain() drain: after `drain_notice` no new
// connection, requests in flight are answered, connections end; those still open after `drain` are
// cut off, which the last line says. A second signal ends it at once.
//
// Thread   The caller's becomes the first loop's, until it returns.
// Errors   A failure to start is one sentence on standard error, and status 1.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/base/shared_function.h"
#include "tiderace/base/units.h"
#include "tiderace/core/address.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/stages.h"
#include "tiderace/log/record.h"
#include "tiderace/net/serving_defaults.h"
#include "tiderace/tcp/tls.h"

namespace tiderace::http {

// With certificates the ports speak TLS and unix: does not, unless "http://" or "https://" stands
// before the address.
using net::ListenOn;

class TcpService;  // serve/tcp_service.h

// What goes wrong, and what handlers write (http/app/observe/logger.h).
struct LogOptions {
    log::Format format = log::Format::text;
    std::string path = "";                // "": standard error; "-": standard output; a file
    log::Level level = log::Level::info;  // App::set_log_level() changes it while it serves
};

struct ServeOptions {
    ListenOn listen = ":8080";
    // Other protocols, on the same loops: `.tcp = {tcp_service(":7000", handler)}`.
    std::vector<std::shared_ptr<const TcpService>> tcp = {};
    // No certificate: plain. Request::security has whose certificate a client has shown.
    TlsServer tls = {};
    std::size_t threads = 0;  // loops, each on a thread of its own; 0: one for each CPU
    // How long draining may take after the notice; max(): no limit.
    Duration drain = net::ServingDefaults::drain_timeout;
    // From the signal on: connections are accepted and App::ready() answers 503, so that a balancer
    // sends its requests elsewhere.
    Duration drain_notice = Duration::zero();
    // A client that sends a body, or takes an answer, more slowly is cut off
    // (net/progress_rate.h); 0: one byte in half a minute is enough.
    std::uint64_t bytes_per_second_min = net::ServingDefaults::bytes_per_second_min;
    LogOptions log = {};
    std::string access_log = "";  // "-": standard output; a path: appended to; "" and "off": none
    // A loop that a handler blocks for longer is logged with the handler's stack: 100ms, say. Zero:
    // no watchdog. It wakes an idle loop twice in that time (serve/watchdog.h).
    Duration watchdog = Duration::zero();
    std::string engine{
        core::LoopOptions{}.engine};  // "epoll", "io_uring", "kqueue", "poll", "select"
    std::string server_name = MessageOptions{}.server_name;  // the Server field; "": none
    // Called when all sockets listen, instead of printing where: first `listen`, then `tcp`.
    shared_function<void(const std::vector<core::Address>&)> on_listening = {};
};

}  // namespace tiderace::http
