// Internal. LoopGroup: one event loop per thread. The first runs on the caller's thread, the others
// on their own.
//
//   create() --start()--> threads wait --run()--> loops turn --stop()--> threads joined
//
// Owner    The program. Objects on the loops are made before run() and destroyed after it.
// Thread   The one that made it, except stop().
// Errors   create() fails when the machine refuses a loop (an engine that is not there), start()
//          when it refuses a thread.
// Keywords: threads, SO_REUSEPORT, thread per core
#pragma once

#include <atomic>
#include <functional>
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

    // Starts the threads, which wait for run(). A program calls it before it serves anything, so
    // that a machine without threads is an error of the start. run() starts them otherwise, and
    // aborts where it cannot.
    virtual Result<> start();
    // Runs all loops until stop(), then joins the threads.
    virtual void run();
    // Any thread.
    virtual void stop();

    // The acceptor of new connections, on the first loop; nullptr: each loop accepts for itself.
    // One target per loop, in their order.
    virtual std::unique_ptr<Intake> make_intake(std::vector<Intake::Target> targets,
                                                const IntakeOptions& options);
    // On the first loop: loops that no thread is turning run the tasks that were posted to them.
    virtual void attend() {}

  protected:
    explicit LoopGroup(std::vector<std::unique_ptr<core::EventLoop>> loops)
        : loops_(std::move(loops)) {}

    // Threads 1 to `count`, which run `work` with their number once release_threads() is called.
    // All are started, or none is left.
    Result<> start_threads(std::size_t count, std::function<void(std::size_t)> work);
    bool started() const { return gate_ != Gate::none; }
    void release_threads();
    // Waits until their work has ended.
    void join_threads();

  private:
    //   none --start_threads()--> shut --release_threads()--> open --join_threads()--> none
    //                               '---give_up_threads()--> given_up -----------------^
    enum class Gate : std::uint8_t { none, shut, open, given_up };

    void give_up_threads();

    std::vector<std::unique_ptr<core::EventLoop>> loops_;
    std::vector<std::thread> threads_;
    std::function<void(std::size_t)> work_;
    std::atomic<Gate> gate_ = Gate::none;  // none: no thread was started
};

}  // namespace tiderace::net
