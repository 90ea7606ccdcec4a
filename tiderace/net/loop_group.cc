#include "tiderace/net/loop_group.h"

#include <string>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/thread_name.h"
#include "tiderace/base/thread_refusal.h"

namespace tiderace::net {

Result<std::unique_ptr<LoopGroup>> LoopGroup::create(std::size_t loops,
                                                     const core::LoopOptions& options) {
    TR_CHECK(loops > 0);
    std::vector<std::unique_ptr<core::EventLoop>> made;
    for (std::size_t i = 0; i < loops; ++i) {
        auto loop = core::EventLoop::create(options);
        if (!loop) return fail(loop.error());
        made.push_back(std::move(*loop));
    }
    return std::unique_ptr<LoopGroup>(new LoopGroup(std::move(made)));
}

LoopGroup::~LoopGroup() {
    TR_CHECK(gate_ != Gate::open, "run() has not returned");
    // Threads that wait at the gate were never released: they return without turning a loop.
    give_up_threads();
}

// The threads wait at a gate until all of them exist. A machine that allows too few is reported
// before any loop serves, and no loop runs in a group that is torn down again.
Result<> LoopGroup::start_threads(std::size_t count, std::function<void(std::size_t)> work) {
    TR_CHECK(!started(), "the threads are started once");
    work_ = std::move(work);
    gate_ = Gate::shut;
    const int code = thread_refusal([&] {
        threads_.reserve(count);
        for (std::size_t i = 1; i <= count; ++i) {
            threads_.emplace_back([this, i] {
                gate_.wait(Gate::shut);
                if (gate_ != Gate::open) return;
                name_this_thread("loop " + std::to_string(i));
                work_(i);
            });
        }
    });
    if (code == 0) return {};
    // The first loop runs on the caller's thread.
    const std::size_t had = threads_.size() + 1;
    give_up_threads();
    return fail(Error(code, "start",
                      "loop " + std::to_string(had + 1) + " of " + std::to_string(count + 1),
                      "no further thread is allowed: use fewer threads, or raise the limit "
                      "(ulimit -u, ulimit -v, pids.max of the cgroup)"));
}

void LoopGroup::release_threads() {
    gate_ = Gate::open;
    gate_.notify_all();
}

void LoopGroup::join_threads() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    gate_ = Gate::none;
}

void LoopGroup::give_up_threads() {
    gate_ = Gate::given_up;
    gate_.notify_all();
    join_threads();
}

Result<> LoopGroup::start() {
    return start_threads(size() - 1, [this](std::size_t i) { loops_[i]->run(); });
}

void LoopGroup::run() {
    if (!started()) {
        const auto done = start();
        TR_CHECK(done.has_value(), "no thread for a loop: call start() first");
    }
    // All threads exist by now, so every listener has a loop that accepts.
    release_threads();
    loops_[0]->run();
    join_threads();
}

std::unique_ptr<Intake> LoopGroup::make_intake(std::vector<Intake::Target>, const IntakeOptions&) {
    return nullptr;
}

// The first loop runs on the caller's thread: run() returns when all have stopped.
void LoopGroup::stop() {
    for (auto& loop : loops_) loop->request_stop();
}

}  // namespace tiderace::net
