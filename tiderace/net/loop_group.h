// LoopGroup: one event loop per thread. The first runs on the caller's thread, the others on their
// own.
//
// Owner    The program. What is attached to the loops is made before run() and destroyed after it.
// Thread   The one that made it, except stop().
// Errors   create() fails when the machine refuses a loop (an engine that is not there).
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "tiderace/core/event_loop.h"
#include "tiderace/net/intake.h"

namespace tiderace::net {

class LoopGroup {
  public:
    static Result<std::unique_ptr<LoopGroup>> create(std::size_t loops,
                                                     const core::LoopOptions& options);
    virtual ~LoopGroup();

    std::size_t size() const { return loops_.size(); }
    core::EventLoop& loop(std::size_t i) { return *loops_[i]; }

    // Runs all loops until stop(), then joins the threads.
    virtual void run();
    // Any thread.
    virtual void stop();

    // Who takes new connections, on the first loop; nullptr: the loops, each for itself. A target a
    // loop, in their order.
    virtual std::unique_ptr<Intake> make_intake(std::vector<Intake::Target> targets,
                                                const IntakeOptions& options);
    // On the first loop: loops that no thread is turning look at what was posted to them.
    virtual void attend() {}

  protected:
    explicit LoopGroup(std::vector<std::unique_ptr<core::EventLoop>> loops)
        : loops_(std::move(loops)) {}

  private:
    std::vector<std::unique_ptr<core::EventLoop>> loops_;
    std::vector<std::thread> threads_;
};

}  // namespace tiderace::net
