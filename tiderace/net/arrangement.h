// Arrangement: in what ways of building a server differ, beside the protocol: which loops there
// are, over which backend, whose threads run them, and who takes new connections.
//
// As it stands it is the program's own way: one loop per thread, over the backend of the name asked
// for, each accepting for itself. The lab has others (lab/engine/engine.h), and the server's code
// above is the same for all of them.
//
// Owner    Whoever calls server::serve(); it outlives that.
// Thread   The main thread's, before the loops run.
// Errors   make_loops fails when the machine refuses, as LoopGroup::create does.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "tiderace/core/signals.h"
#include "tiderace/net/loop_group.h"

namespace tiderace::net {

// What the process that watches over others asks of the server.
struct Watching {
    unique_function<void()> on_serving;  // once: all of them serve
    unique_function<void()> on_drain;    // once: they are about to be told to end
    Duration drain{};                    // which they do within this
};

class Arrangement {
  public:
    virtual ~Arrangement() = default;

    // How many processes serve, beside the one that was started, which watches over them then; 0:
    // it serves itself.
    virtual std::size_t count_processes(std::size_t /*asked*/, std::size_t /*cpus*/) const {
        return 0;
    }
    // Makes them, when the listening sockets are open and before there is a thread or a loop. Empty
    // in each that serves. In the one that watches: the exit status, once all have ended.
    virtual std::optional<int> split(std::size_t processes, core::Signals& signals,
                                     Watching watching);
    // In a process that serves: it does from now on.
    virtual void tell_serving() {}
    // How many loops there are where `asked` (0: nothing was said) of --threads and as many CPUs
    // are given.
    virtual std::size_t count_loops(std::size_t asked, std::size_t cpus) const;
    // `options.engine` is what was asked for by name: the arrangement's own name, where it is not
    // core's.
    virtual Result<std::unique_ptr<LoopGroup>> make_loops(std::size_t count,
                                                          const core::LoopOptions& options);
    // Whether the loops do not accept: one thread does, for all of them (LoopGroup::make_intake, or
    // a thread of its own over a bounded queue, hand_off.h).
    virtual bool listens_apart() const { return false; }
    // Whether there are many loops with one connection each, so that each gets a small part of what
    // one loop would have.
    virtual bool has_small_loops() const { return false; }
    // Which of core's engines its plain loops have, and one that does nothing but listen.
    virtual std::string_view core_engine(std::string_view asked) const { return asked; }
};

}  // namespace tiderace::net
