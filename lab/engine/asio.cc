// Asio's two ways to use several threads, each with the same handlers.
//
//   per thread   thread 1: io_context -> loop 1        thread 2: io_context -> loop 2
//   shared       one io_context, one queue of handlers   <- run by threads 1 and 2
//                strand 1 = loop 1, strand 2 = loop 2: never in two threads at once
//
// Waits      In io_context::run(): a thread without a handler waits, in epoll or for another that
//            does (one thread at a time is in epoll; the others sleep on a condition).
// Accepts    Per thread: each loop, on a listener of its own. Shared: one loop for all, which deals
//            to the strands in turn (net/hand_off.h).
// Owns       The loop. In the shared one that is a strand, and its thread changes.
// Costs      A handler for each read and write that completed, and a post to reach the loop's turn.
//            Shared: the queue's lock for each handler, wake-ups, and connections whose memory is
//            in another CPU's cache.
// Fails at   Shared: many threads and short handlers, where all of them meet at the one queue.
//
// asio_backend.h is the loop in an io_context.
#include "lab/engine/asio.h"

#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <atomic>
#include <utility>
#include <vector>

#include "lab/engine/asio_backend.h"
#include "tiderace/net/hand_off.h"

namespace tiderace::lab::engine {
namespace {

using Context = std::shared_ptr<asio::io_context>;
using ContextExecutor = asio::io_context::executor_type;
using Strand = asio::strand<ContextExecutor>;

constexpr std::string_view per_thread_name = "asio-per-thread";
constexpr std::string_view shared_name = "asio-shared";

// Loops in io_contexts that threads of ours run.
template <typename Executor>
class AsioLoops final : public net::LoopGroup {
  public:
    // One io_context for each loop, or one for all; as many threads as loops in any case.
    AsioLoops(std::vector<std::unique_ptr<core::EventLoop>> loops,
              std::vector<AsioBackend<Executor>*> backends, std::vector<Context> contexts)
        : net::LoopGroup(std::move(loops)),
          backends_(std::move(backends)),
          contexts_(std::move(contexts)) {}

    Result<> start() override {
        return start_threads(backends_.size() - 1, [this](std::size_t i) { context_of(i).run(); });
    }

    void run() override {
        if (!started()) TR_CHECK(start().has_value(), "no thread for an io_context");
        running_ = backends_.size();
        for (std::size_t i = 0; i < backends_.size(); ++i) {
            backends_[i]->drive(loop(i), [this, i] { end(i); });
        }
        release_threads();
        context_of(0).run();
        join_threads();
        // Only now: until the threads have ended, a handler of theirs may still turn a loop.
        for (AsioBackend<Executor>* backend : backends_) backend->stop_driving();
    }

    // One io_context has one acceptor, as Asio's servers do: it deals to the strands.
    std::unique_ptr<net::Intake> make_intake(std::vector<net::Intake::Target> targets,
                                             const net::IntakeOptions& options) override {
        if (contexts_.size() > 1) return nullptr;
        return std::make_unique<net::HandOff>(loop(0), std::move(targets), options.waiting_max,
                                              options.refusal);
    }

  private:
    asio::io_context& context_of(std::size_t i) {
        return *contexts_[contexts_.size() == 1 ? 0 : i];
    }
    // On a thread of the loop's io_context.
    void end(std::size_t i) {
        const bool last = running_.fetch_sub(1) == 1;
        // A shared io_context also runs the other loops, so the last of them stops it. Without
        // stop() it would run on, because each backend holds work in it.
        if (contexts_.size() > 1 || last) context_of(i).stop();
    }

    std::vector<AsioBackend<Executor>*> backends_;  // the loops own them
    std::vector<Context> contexts_;
    std::atomic<std::size_t> running_ = 0;
};

template <typename Executor>
class AsioModel final : public ThreadingModel {
    static constexpr bool shared = std::is_same_v<Executor, Strand>;

  public:
    Result<std::unique_ptr<net::LoopGroup>> make_loops(std::size_t count,
                                                       const core::LoopOptions& options) override {
        std::vector<Context> contexts;
        std::vector<std::unique_ptr<core::EventLoop>> loops;
        std::vector<AsioBackend<Executor>*> backends;
        for (std::size_t i = 0; i < count; ++i) {
            if (!shared || i == 0) {
                // The hint: how many threads run it. One needs fewer locks.
                contexts.push_back(
                    std::make_shared<asio::io_context>(shared ? static_cast<int>(count) : 1));
            }
            const Context& context = contexts.back();
            auto backend = std::make_unique<AsioBackend<Executor>>(
                context, Executor(context->get_executor()), shared ? shared_name : per_thread_name,
                options.backend);
            backends.push_back(backend.get());
            loops.push_back(std::make_unique<core::EventLoop>(std::move(backend), options));
        }
        return std::make_unique<AsioLoops<Executor>>(std::move(loops), std::move(backends),
                                                     std::move(contexts));
    }
    bool listens_apart() const override { return shared; }
    std::string_view core_engine(std::string_view) const override { return "auto"; }
};

}  // namespace

std::string_view asio_absent() {
    return "";
}

Result<std::unique_ptr<core::Backend>> make_asio_backend(const core::BackendOptions& options) {
    auto context = std::make_shared<asio::io_context>(1);
    const ContextExecutor executor = context->get_executor();
    return std::make_unique<AsioBackend<ContextExecutor>>(std::move(context), executor,
                                                          per_thread_name, options);
}

std::unique_ptr<ThreadingModel> arrange_asio_per_thread() {
    return std::make_unique<AsioModel<ContextExecutor>>();
}

std::unique_ptr<ThreadingModel> arrange_asio_shared() {
    return std::make_unique<AsioModel<Strand>>();
}

}  // namespace tiderace::lab::engine
