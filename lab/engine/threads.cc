// Three ways of building a server whose threads block, and where each of them stops working.
//
//   threads          accept -> start a thread -> recv, HTTP, send, recv, … -> the thread ends
//   pool             accept -> [queue] -> one of N threads: recv, HTTP, send, … to the peer's end
//   blocking-epoll   accept -> in turn to N loops -> epoll until one is readable; then that one's
//                    recv, HTTP, send, … to its end, while the loop's others wait
//
// Waits      In recv() of the one connection. The kernel finds the thread, so readiness is never
//            asked for: a request costs a recv and a send, and mostly a switch of threads.
// Accepts    The first loop, which serves none: a thread that blocks accepts nothing.
// Owns       The thread, while it has the connection.
// Costs      threads: a clone() and a stack for each connection, kept while it is idle.
//            pool: the threads once; a connection waits for one to be free.
// Fails at   threads: its limit of threads (512), long before the kernel's of descriptors.
//            pool, blocking-epoll: kept connections. A client that is served holds its thread while
//            it thinks, and the others get nothing. The few see fine latencies, which is how such
//            servers got published figures (report/published.cc).
//
// connection_threads.h is what the first two are made of, blocking_backend.h what blocks in all.
#include "lab/engine/threads.h"

#include "lab/engine/connection_threads.h"
#include "tiderace/net/hand_off.h"

namespace tiderace::lab::engine {
namespace {

// A connection needs little of a receive buffer, and there are many of these loops.
constexpr std::size_t seat_receive_bytes = 16_KiB;

class SeatsModel final : public ThreadingModel {
  public:
    SeatsModel(SeatThreads threads, std::size_t seats) : threads_(threads), seats_(seats) {}

    // Whatever the CPUs: what bounds these engines is how many threads wait, not how many run.
    std::size_t count_loops(std::size_t asked, std::size_t) const override {
        // The first only accepts.
        return (asked > 0 ? asked : seats_) + 1;
    }
    Result<std::unique_ptr<net::LoopGroup>> make_loops(std::size_t count,
                                                       const core::LoopOptions& options) override {
        core::LoopOptions loops = options;
        loops.backend.receive_bytes = seat_receive_bytes;
        return ConnectionThreads::create(count - 1, threads_, loops);
    }
    bool listens_apart() const override { return true; }
    bool has_small_loops() const override { return true; }
    std::string_view core_engine(std::string_view) const override { return "auto"; }

  private:
    SeatThreads threads_;
    std::size_t seats_;
};

// The first loop deals the connections to the others in turn, even to a loop that is blocked.
class DealtLoops final : public net::LoopGroup {
  public:
    explicit DealtLoops(std::vector<std::unique_ptr<core::EventLoop>> loops)
        : net::LoopGroup(std::move(loops)) {}

    std::unique_ptr<net::Intake> make_intake(std::vector<net::Intake::Target> targets,
                                             const net::IntakeOptions& options) override {
        // It is the loop that accepts, and serves none.
        targets.erase(targets.begin());
        return std::make_unique<net::HandOff>(loop(0), std::move(targets), options.waiting_max,
                                              options.refusal);
    }
};

class BlockingEpoll final : public ThreadingModel {
  public:
    // One more than serve: the first only accepts.
    std::size_t count_loops(std::size_t asked, std::size_t cpus) const override {
        return ThreadingModel::count_loops(asked, cpus) + 1;
    }
    Result<std::unique_ptr<net::LoopGroup>> make_loops(std::size_t count,
                                                       const core::LoopOptions& options) override {
        core::LoopOptions each = options;
        each.engine = "auto";
        std::vector<std::unique_ptr<core::EventLoop>> loops;
        for (std::size_t i = 0; i < count; ++i) {
            // Not for the one that accepts: if it blocked, no connection would be dealt.
            each.make_backend = i == 0 ? nullptr : make_blocking_epoll_backend;
            auto loop = core::EventLoop::create(each);
            if (!loop) return fail(loop.error());
            loops.push_back(std::move(*loop));
        }
        return std::make_unique<DealtLoops>(std::move(loops));
    }
    bool listens_apart() const override { return true; }
    std::string_view core_engine(std::string_view) const override { return "auto"; }
};

}  // namespace

std::unique_ptr<ThreadingModel> arrange_threads() {
    return std::make_unique<SeatsModel>(SeatThreads::one_each, threads_max_default);
}

std::unique_ptr<ThreadingModel> arrange_pool() {
    return std::make_unique<SeatsModel>(SeatThreads::kept, pool_threads_default);
}

std::unique_ptr<ThreadingModel> arrange_blocking_epoll() {
    return std::make_unique<BlockingEpoll>();
}

}  // namespace tiderace::lab::engine
