// serve: an App on the network: all loops, HTTP/1.1 and HTTP/2, TLS, signals, an orderly end.
//
//   return app.serve({.listen = ":8080"});
//   return app.serve({.listen = {":80", "unix:/run/app.sock"}, .threads = 4, .access_log = "-"});
//   return app.serve({.listen = {":443", "http://:80"}, .tls = {{"cert.pem", "key.pem"}}});
//
// It prints where it listens. SIGTERM, SIGINT and App::drain() drain: after `drain_notice` no new
// connection, requests in flight are answered, connections end; those still open after `drain` are
// cut off, which the last line says. A second signal ends it at once.
//
// Thread   The caller's becomes the first loop's, until it returns.
// Errors   What keeps it from serving is one sentence on standard error, and status 1.
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
#include "tiderace/net/serving_defaults.h"

namespace tiderace::http {

// With certificates the ports speak TLS and unix: does not, unless "http://" or "https://" stands
// before the address.
using net::ListenOn;

// PEM files: the server's certificate with its chain, and its key.
struct TlsFiles {
    std::string certificate;
    std::string key;
    bool development = false;  // instead of both
};

// For development: `.tls = {development_certificate}`. A certificate for localhost, this machine's
// name and its addresses, made where there is none that serves, and signed by an authority that
// browsers can be made to trust: the one of `tiderace serve --tls-self-signed`, in the same files
// ($XDG_DATA_HOME/tiderace, or ~/.local/share/tiderace). `tiderace trust` explains how.
inline const TlsFiles development_certificate{.certificate = "", .key = "", .development = true};

class TcpService;  // serve/tcp_service.h

struct ServeOptions {
    ListenOn listen = ":8080";
    // Other protocols, on the same loops: `.tcp = {tcp_service(":7000", handler)}`.
    std::vector<std::shared_ptr<const TcpService>> tcp = {};
    std::vector<TlsFiles> tls = {};  // chosen by the name that the client asks for; none: plain
    // PEM file of the authorities that sign clients' certificates. "": none is requested.
    // Request::security has whether one was verified, and whose.
    std::string client_ca = "";
    // With client_ca. False: a client without a certificate is served, too. One that shows a
    // certificate that does not verify is refused in either case.
    bool client_required = true;
    std::size_t threads = 0;  // loops, each on a thread of its own; 0: one for each CPU
    // From the end of the notice to the end; max(): none.
    Duration drain = net::ServingDefaults::drain_timeout;
    // From the signal on: connections are accepted and App::ready() answers 503, so that a balancer
    // sends its requests elsewhere.
    Duration drain_notice = Duration::zero();
    // Who sends a body, or takes an answer, more slowly is cut off (net/progress_rate.h); 0: one
    // byte in half a minute is enough.
    std::uint64_t bytes_per_second_min = net::ServingDefaults::bytes_per_second_min;
    std::string access_log = "";  // "-": standard output; a path: appended to; "" and "off": none
    // A loop that a handler blocks for longer is logged with the handler's stack: 100ms, say. Zero:
    // none is. It wakes an idle loop twice in that time (serve/watchdog.h).
    Duration watchdog = Duration::zero();
    std::string engine{
        core::LoopOptions{}.engine};  // "epoll", "io_uring", "kqueue", "poll", "select"
    std::string server_name = MessageDefaults::server_name;  // the Server field; "": none
    // Called when all sockets listen, instead of printing where: those of `listen`, then of `tcp`.
    shared_function<void(const std::vector<core::Address>&)> on_listening = {};
};

}  // namespace tiderace::http
