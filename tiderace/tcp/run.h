// Internal. run_server, ServeOptions: what tcp::serve and tcp::Server have in common: loops,
// listening sockets, a pool, a log, signals, an orderly end.
//
// Owner    The two make a Protocol for each loop; it runs until the server ended.
// Thread   The caller's becomes the first loop's.
// Errors   One sentence on standard error, and status 1.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/units.h"
#include "tiderace/core/address.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/net/connection.h"
#include "tiderace/net/serving_defaults.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/states.h"
#include "tiderace/tcp/security.h"
#include "tiderace/tcp/stream.h"

namespace tiderace::tcp {

using net::ListenOn;

struct ServeOptions {
    std::size_t threads = 0;  // loops, each on a thread of its own; 0: one for each CPU
    Duration drain = net::ServingDefaults::drain_timeout;  // from the signal to the end
    std::size_t connections_max = 0;  // of all loops; 0: what the descriptor limit allows
    LoopStates states = {};           // what handlers take by type
    StreamOptions stream = {};        // of streams; peers of a Server have its rate alone
    net::ConnectionLimits limits = {};
    net::SocketOptions socket = {};            // of each connection
    const ServerSecurity* security = nullptr;  // TLS; it outlives the server
    std::string engine{
        core::LoopOptions{}.engine};  // "epoll", "io_uring", "kqueue", "poll", "select"
    std::string program = "tcp";      // begins each sentence on standard error
    bool takes_signals = true;        // false: the program has its own; see net::Serving
    // request_stop() of its source drains, as SIGTERM does: from any thread, a handler's too.
    std::stop_token stop = {};
    // Called when all sockets listen, instead of printing where.
    std::function<void(const std::vector<core::Address>&)> on_listening = {};
};

// The protocol of the connections of one loop. Destroyed when its connections are gone, before the
// runner.
class Protocol : public net::SessionFactory {
  public:
    virtual ~Protocol() = default;
};

using MakeProtocol =
    std::function<Result<std::unique_ptr<Protocol>>(task::Runner&, const task::States&)>;

int run_server(const ListenOn& listen, const ServeOptions& options, const MakeProtocol& make);

}  // namespace tiderace::tcp
