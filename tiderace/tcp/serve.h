// serve: a coroutine for each connection, on all cores.
//
//   return tcp::serve(":7", [](tcp::Stream s) -> Task<> {
//       while (auto bytes = co_await s.read()) co_await s.write(*bytes);
//   });
//
// It prints where it listens. SIGTERM and SIGINT drain: no new connection is accepted, and a read
// that waits for the peer's next bytes gets End::stopping, so that the coroutine can end in order;
// connections still open after ServeOptions::drain are cut off, which the last line reports.
//
// With ServeOptions::security it begins when the handshake is over, so that security() identifies
// the client; a client whose handshake fails never reaches it.
//
// The coroutine ends the connection by returning. If the peer is gone (reset, stalled, cut off), a
// waiting read or write reports it; a coroutine that waits for something else, or goes on writing
// after a write returned false, is cancelled: its frame ends at its await.
//
// Owner    serve() keeps the handler. It is called through const F&, on all loops at once: what it
//          captures is const, or has a lock of its own.
// Thread   The caller's becomes the first loop's, until it returns.
// Errors   A failure to start is one sentence on standard error, and status 1. A handler
//          that throws is one log line; its connection is closed at once.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/task/runner.h"
#include "tiderace/tcp/run.h"
#include "tiderace/tcp/stream.h"

namespace tiderace::tcp {

using Handler = std::function<task::Task<>(Stream)>;

// The coroutines of one loop's connections.
class Tasks final : public Protocol {
  public:
    Tasks(task::Runner& runner, const Handler& handler, const ServeOptions& options);
    ~Tasks() override;

    std::size_t size() const { return served_.size(); }  // that run or wait

  private:
    class Served;

    net::Session& make_session(net::Connection& connection) override;

    task::Runner* runner_;
    const Handler* handler_;
    ServeOptions options_;
    std::vector<std::unique_ptr<Served>> served_;
};

int serve_handler(const ListenOn& listen, const Handler& handler, const ServeOptions& options);

template <typename F>
int serve(const ListenOn& listen, F handler, const ServeOptions& options = {}) {
    constexpr bool fits = std::is_invocable_r_v<task::Task<>, const F&, Stream>;
    static_assert(fits,
                  "tcp::serve: the handler takes a tcp::Stream and returns a Task<>; all loops call"
                  " it, so that its captures are const: remove `mutable`");
    if constexpr (fits) {
        const auto kept = std::make_shared<const F>(std::move(handler));
        return serve_handler(
            listen, [kept](Stream stream) { return (*kept)(std::move(stream)); }, options);
    } else {
        return 1;
    }
}

}  // namespace tiderace::tcp
