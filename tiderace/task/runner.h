// Runner: runs the tasks of one loop. Root: a task that no other awaits.
//
//                 start()                    the event it waits for
//   Root + Task ----------> running -> waiting ----------------> ready -> running -> … -> done
//                              ^          |                        |
//                              |          +---- cancel() ----------+----> frame destroyed
//                              +------------------- next turn end ---+
//
// A coroutine is resumed from the ready queue alone, so none runs inside another one's call, and a
// callback of the loop never finds its own object destroyed by what it woke; but see run_ready().
//
// Owner    A Runner belongs to the one that made the loop, and ends before the loop does.
// Thread   The loop's.
// Limits   resumes_per_turn_max at a turn's end, then the loop turns to the kernel; spends_max
//          operations that complete at once, then the task waits behind the others.
// Keywords: coroutine, executor, cancellation
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/units.h"
#include "tiderace/core/blocking_jobs.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/task/context.h"
#include "tiderace/task/kept_frame.h"
#include "tiderace/task/locals.h"
#include "tiderace/task/task.h"

namespace tiderace::task {

class OffloadBase;
class Root;

// A function without arguments whose task has no value.
template <typename F>
concept TaskFunction = requires(F& function) {
    { function() } -> std::same_as<Task<>>;
};

// The parameter lives in the frame, for as long as the task of it runs.
template <TaskFunction F>
Task<> run_kept(F function) {
    co_await function();
}

class Runner final : private core::TurnEnd {
  public:
    static constexpr std::size_t resumes_per_turn_max = 1'024;
    static constexpr std::uint32_t spends_max = 128;
    static constexpr std::size_t offloads_max = 256;

    explicit Runner(core::EventLoop& loop, core::WorkerPool* pool = nullptr);
    // Cancels the tasks that were spawned here and still wait, and ends the frames that were kept.
    ~Runner();
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    core::EventLoop& loop() const { return *loop_; }
    core::WorkerPool* pool() const { return pool_; }
    // An object that the tasks of this loop share: one T, made as T(runner) at the first call.
    template <typename T>
    T& local() {
        return locals_.get<T>(*this);
    }

    // Runs a task that nothing awaits. A failure is one log line.
    void spawn(Task<> task);
    // Keeps the callable until its task has ended, because the task reads what a lambda captured.
    template <TaskFunction F>
    void spawn(F function) {
        spawn(run_kept(std::move(function)));
    }
    void cancel_spawned();  // all of them
    std::size_t spawned() const { return spawned_.size(); }

    // Whether an operation that could complete at once may do so without giving way.
    bool spend() {
        if (spends_left_ == 0) return false;
        --spends_left_;
        return true;
    }
    bool running() const { return depth_ > 0; }
    // No task runs and none is ready. A callback that began so may end with run_ready(), which
    // resumes what it woke before the turn's end. Its object must outlive what tasks may end.
    bool idle() const { return depth_ == 0 && !settling_ && ready_.empty(); }
    void run_ready();
    void destroy_later(std::unique_ptr<Root> root);  // once no task is running
    void keep(KeptFrame& frame);                     // which another one may have kept
    // What runs on while no task awaits it belongs to this one.
    Root& absent() { return *absent_; }

  private:
    class Absent;
    class Spawned;
    friend class OffloadBase;
    friend class Root;
    friend class Waiter;
    struct Retry final : core::Timer {  // looks again whether the pool has room
        explicit Retry(Runner& r) : runner(&r) {}
        void on_expired() override { runner->serve_offloads(); }
        Runner* runner;
    };
    void on_turn_end() TR_ON_LOOP override;
    void make_ready(Waiter& waiter);
    void resume_first_of(IntrusiveList<Waiter>& ready);
    void enter(std::coroutine_handle<> handle, Context& context);
    void after_running();
    void offload(OffloadBase& waiting);
    void serve_offloads();

    core::EventLoop* loop_;
    core::WorkerPool* pool_;  // nullptr: none
    Locals locals_;
    std::unique_ptr<core::BlockingJobs> jobs_;  // with a pool
    IntrusiveList<OffloadBase> offloads_waiting_;
    IntrusiveList<KeptFrame> kept_;
    std::unique_ptr<Root> absent_;
    Retry retry_{*this};
    IntrusiveList<Waiter> ready_;
    IntrusiveList<Root> settled_;  // done, or to be cancelled, once no task is running
    std::vector<std::unique_ptr<Root>> dying_;
    std::vector<std::unique_ptr<Spawned>> spawned_;
    std::uint32_t spends_left_ = spends_max;
    std::uint32_t depth_ = 0;
    bool asked_ = false;     // on_turn_end comes
    bool settling_ = false;  // after_running() is on the stack
};

// One log line with the exception's text, at most one a second; none without a logger.
void log_failure(log::Logger* logger, const std::exception_ptr& failure);

// A task that no other awaits: a handler, a connection's protocol, a spawned one.
class Root : private ListHook, private Joiner {
  public:
    Root() = default;
    Root(const Root&) = delete;
    Root& operator=(const Root&) = delete;
    // Cancels it. Not while it runs: hand it to Runner::destroy_later() then.
    virtual ~Root();

    // Runs the task until it first waits. One at a time.
    template <typename T>
    void start(Runner& runner, Task<T> task, Instant deadline = Instant::max()) {
        const auto frame = task.release();
        TR_CHECK(static_cast<bool>(frame), "start of an empty task");
        start(runner, frame, frame.promise(), deadline);
    }
    // Destroys the frame: now, or as soon as no task is running. on_done is not called any more.
    void cancel();
    bool started() const { return context_.runner != nullptr; }
    bool alive() const { return frame_ != nullptr; }  // it runs or waits
    bool on_stack() const { return on_stack_ > 0; }
    const Context& context() const { return context_; }

  protected:
    // The task has ended with a value, which the promise of its type still holds. Must not throw.
    virtual void keep_value(PromiseBase&) {}
    // Once, with no task running, after the frame has gone: the root may be destroyed in here.
    // `failure`: what the task threw.
    virtual void on_done(std::exception_ptr failure) = 0;
    // Destroys the frame now, for destructors of what the task uses: members end before ~Root().
    // Not while the task runs.
    void end_frame();

  private:
    friend class Runner;
    friend class IntrusiveList<Root>;
    void start(Runner& runner, std::coroutine_handle<> frame, PromiseBase& promise,
               Instant deadline);
    std::coroutine_handle<> on_child_done(PromiseBase&) noexcept override;
    void settle();

    std::coroutine_handle<> frame_;
    PromiseBase* promise_ = nullptr;
    Context context_;
    std::uint32_t on_stack_ = 0;
    bool cancelled_ = false;
};

}  // namespace tiderace::task
