// ThreadingModel: the ways in which servers are built, apart from the protocol: their loops, the
// backend of each, the threads that run them, and the thread that accepts new connections.
//
// The base class is the way of `tiderace serve`: one loop per thread, over the backend of the given
// name, each accepting for itself. engine.h has the others. The server runs on the loops that they
// make (server/assemble.h), and its code is the same for all.
//
// Owner    The lab's program; it outlives the server.
// Thread   The main thread's, before the loops run.
// Errors   make_loops fails when the machine refuses, as LoopGroup::create does.
// Keywords: SO_REUSEPORT, prefork, thread per core
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "tiderace/core/signals.h"
#include "tiderace/net/loop_group.h"

namespace tiderace::lab::engine {

// Hooks of the process that watches over the serving ones.
struct Watching {
    unique_function<void()> on_serving;  // once: all of them serve
    unique_function<void()> on_drain;    // once: a stop is about to be requested of them
    Duration drain{};                    // the time they have for it; max(): no limit
};

class ThreadingModel {
  public:
    virtual ~ThreadingModel() = default;

    // The number of processes that serve, besides the one that was started, which watches over
    // them; 0: it serves itself.
    virtual std::size_t count_processes(std::size_t /*asked*/, std::size_t /*cpus*/) const {
        return 0;
    }
    // Makes them, when the listening sockets are open and before there is a thread or a loop. Empty
    // in each process that serves. In the one that watches: the exit status, once all have ended.
    virtual std::optional<int> split(std::size_t processes, core::Signals& signals,
                                     Watching watching);
    // Called in a process that serves, once it does.
    virtual void note_serving() {}
    // The number of loops for `asked` (0: no --threads) and the number of CPUs.
    virtual std::size_t count_loops(std::size_t asked, std::size_t cpus) const;
    // `options.engine` is the name that was given: the model's own, if it is not core's.
    virtual Result<std::unique_ptr<net::LoopGroup>> make_loops(std::size_t count,
                                                               const core::LoopOptions& options);
    // Whether one thread accepts for all loops (LoopGroup::make_intake, or a thread of its own over
    // a bounded queue, hand_off.h).
    virtual bool listens_apart() const { return false; }
    // Whether there are many loops with one connection each, so that each gets a small part of one
    // loop's resources.
    virtual bool has_small_loops() const { return false; }
    // Which of core's engines its plain loops use, and a loop that only listens.
    virtual std::string_view core_engine(std::string_view asked) const { return asked; }
};

}  // namespace tiderace::lab::engine
