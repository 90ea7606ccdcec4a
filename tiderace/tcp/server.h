// Server: callbacks for the connections of a listening socket, on all cores.
//
//   return tcp::Server(":7")
//       .on_data([](tcp::Peer& peer, ByteView in) { peer.write(in); return in.size(); })
//       .run();
//
//   on_accept -> on_data … on_drained … on_idle … -> on_close, once     (on_error: one threw)
//
//   on_accept   before any byte, and with TLS before the handshake, when security() is null; it may
//               write, close and abort
//   on_data     never empty; the view is gone on return. It returns how many bytes it used; the
//               rest comes again, before newer ones, until unread_bytes_max is reached
//               (unread_overflow). One that returns nothing used them all
//   on_drained  after a write() that returned Backlog::high, or want_drained()
//   on_idle     while neither side owes the other a byte; again after each `idle`
//   on_close    the last one, with the reason, also after abort() and after a callback that threw;
//               state<T>() is still there, and writes are dropped
//
// Peers of a loop share a state, as in an App: `.state<Rooms>(…)` makes one for each
// loop, `.share(settings)` is one for all; callbacks find it by Peer::loop_state<Rooms>().
//
// None of them is called inside another of the same peer: abort() in a callback leads to on_close
// later in this turn. A peer that finished its direction gets what was written, and is closed.
//
// run() prints where it listens. SIGTERM and SIGINT drain: what has arrived is answered, then
// connections are closed; those left after ServeOptions::drain are cut off, which the last line
// reports.
//
// Owner    The program; run() uses it until it returns.
// Thread   run(): the caller's becomes the first loop's. Callbacks are called through const F&, on
//          all loops at once: captures are const, or have a lock of their own. The state of one
//          connection stands in Peer::state<T>().
// Errors   A failure to start is one sentence on standard error, and status 1. A callback
//          that throws is one log line, or on_error; its connection is closed at once.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "tiderace/tcp/peer.h"
#include "tiderace/tcp/run.h"

namespace tiderace::tcp {

struct Callbacks {
    std::function<void(Peer&)> on_accept;
    std::function<std::size_t(Peer&, ByteView)> on_data;
    std::function<void(Peer&, net::CloseReason)> on_close;
    std::function<void(Peer&)> on_drained;
    std::function<void(Peer&, std::exception_ptr)> on_error;
    std::function<void(Peer&)> on_idle;
    Duration idle = 0s;
};

class Server final {
  public:
    explicit Server(ListenOn listen, ServeOptions options = {})
        : listen_(std::move(listen)), options_(std::move(options)) {}

    template <typename F>
    Server& on_accept(F call) {
        callbacks_.on_accept = shared<void, Peer&>(std::move(call));
        return *this;
    }
    template <typename F>
    Server& on_data(F call) {
        if constexpr (!std::is_invocable_v<const F&, Peer&, ByteView>) {
            callbacks_.on_data = shared<std::size_t, Peer&, ByteView>(std::move(call));
        } else if constexpr (std::is_void_v<std::invoke_result_t<const F&, Peer&, ByteView>>) {
            const auto each = shared<void, Peer&, ByteView>(std::move(call));
            callbacks_.on_data = [each](Peer& peer, ByteView bytes) {
                each(peer, bytes);
                return bytes.size();
            };
        } else {
            callbacks_.on_data = shared<std::size_t, Peer&, ByteView>(std::move(call));
        }
        return *this;
    }
    // The last call for this peer. Nothing can be written any more.
    template <typename F>
    Server& on_close(F call) {
        callbacks_.on_close = shared<void, Peer&, net::CloseReason>(std::move(call));
        return *this;
    }
    // The queue is short again after Backlog::high, or after want_drained().
    template <typename F>
    Server& on_drained(F call) {
        callbacks_.on_drained = shared<void, Peer&>(std::move(call));
        return *this;
    }
    // The exception of a callback; the connection is closed after it.
    template <typename F>
    Server& on_error(F call) {
        callbacks_.on_error = shared<void, Peer&, std::exception_ptr>(std::move(call));
        return *this;
    }
    // The peer sent nothing, and took all we had, for `idle`; again after each. It may write, or
    // close. Without it such a peer is closed (idle_timeout).
    template <typename F>
    Server& on_idle(Duration idle, F call) {
        callbacks_.idle = idle;
        callbacks_.on_idle = shared<void, Peer&>(std::move(call));
        return *this;
    }
    Server& idle_timeout(Duration idle) {
        callbacks_.idle = idle;
        return *this;
    }

    // As App's: a state for each loop, or one for all, for Peer::loop_state().
    template <typename S, typename F>
    Server& state(F make) {
        options_.states.state<S>(std::move(make));
        return *this;
    }
    template <typename S>
    Server& share(S&& shared) {
        options_.states.share(std::forward<S>(shared));
        return *this;
    }

    // Serves until a stop is requested. Returns the exit status.
    int run() const;

    const Callbacks& callbacks() const { return callbacks_; }  // for this room

  private:
    template <typename R, typename... Args, typename F>
    static std::function<R(Args...)> shared(F call) {
        constexpr bool fits = std::is_invocable_r_v<R, const F&, Args...>;
        static_assert(fits,
                      "tcp::Server: all loops call a callback, so that its captures are const:"
                      " remove `mutable`, and look at its parameters");
        if constexpr (fits) {
            return [kept = std::make_shared<const F>(std::move(call))](Args... args) -> R {
                return (*kept)(std::forward<Args>(args)...);
            };
        } else {
            return {};
        }
    }

    ListenOn listen_;
    ServeOptions options_;
    Callbacks callbacks_;
};

// The peers of one loop.
class Peers final : public Protocol {
  public:
    Peers(task::Runner& runner, const task::States& states, const Callbacks& callbacks,
          const ServeOptions& options)
        : runner_(&runner), states_(&states), callbacks_(&callbacks), options_(options) {}

  private:
    net::Session& make_session(net::Connection& connection) override;

    task::Runner* runner_;
    const task::States* states_;
    const Callbacks* callbacks_;
    ServeOptions options_;
};

}  // namespace tiderace::tcp
