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
#include <string_view>

#include "tiderace/net/loop_group.h"

namespace tiderace::net {

class Arrangement {
  public:
    virtual ~Arrangement() = default;

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
    // The engine of a loop that does nothing but listen.
    virtual std::string_view listening_engine(std::string_view asked) const { return asked; }
};

}  // namespace tiderace::net
