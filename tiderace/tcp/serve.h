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
// Behind its stream the handler takes states, by the words of an App: `S&`, one of its loop, or
// `const S&` (ServeOptions::states).
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

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tiderace/task/runner.h"
#include "tiderace/task/signature.h"
#include "tiderace/task/states.h"
#include "tiderace/tcp/run.h"
#include "tiderace/tcp/stream.h"

namespace tiderace::tcp {

using Handler = std::function<task::Task<>(Stream)>;

// The coroutines of one loop's connections.
class Tasks final : public Protocol {
  public:
    Tasks(task::Runner& runner, Handler handler, const ServeOptions& options);
    ~Tasks() override;

    std::size_t size() const { return served_.size(); }  // that run or wait

  private:
    class Served;

    net::Session& make_session(net::Connection& connection) override;

    task::Runner* runner_;
    const Handler handler_;
    ServeOptions options_;
    std::vector<std::unique_ptr<Served>> served_;
};

// With the states of a loop; nullopt: one of them is missing.
using BoundHandler = std::function<std::optional<Handler>(const task::States&)>;

// What a handler takes: its stream, and then states.
template <typename...>
struct StreamArguments {
    static constexpr bool fits = false;
};
template <typename... S>
struct StreamArguments<Stream, S...> {
    static constexpr bool fits = task::StateArguments<S...>::fits;

    template <typename F>
    static std::optional<Handler> bind(const std::shared_ptr<const F>& handler,
                                       const task::States& states) {
        const auto found = task::StateArguments<S...>::find(states);
        if (!found) return std::nullopt;
        return [handler, found = *found](Stream stream) {
            return std::apply([&](S&... state) { return (*handler)(std::move(stream), state...); },
                              found);
        };
    }
};

template <task::HasSignature F>
BoundHandler bind_states(F handler) {
    using Signature = task::FunctionOf<F>;
    using Arguments = typename Signature::template Arguments<StreamArguments>;
    constexpr bool fits = Arguments::fits && Signature::constant &&
                          std::same_as<typename Signature::Result, task::Task<>>;
    static_assert(fits,
                  "a handler of streams takes a tcp::Stream, and then states alone (`S&`, or"
                  " `const S&` for a shared one), and returns a Task<>; all loops call it, so it is"
                  " not `mutable`");
    if constexpr (fits) {
        return [kept = std::make_shared<const F>(std::move(handler))](const task::States& states) {
            return Arguments::bind(kept, states);
        };
    } else {
        return {};
    }
}

int serve_handler(const ListenOn& listen, const BoundHandler& handler, const ServeOptions& options);

template <task::HasSignature F>
int serve(const ListenOn& listen, F handler, const ServeOptions& options = {}) {
    return serve_handler(listen, bind_states(std::move(handler)), options);
}

}  // namespace tiderace::tcp
