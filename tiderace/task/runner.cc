#include "tiderace/task/runner.h"

#include <utility>

#include "tiderace/core/contain.h"
#include "tiderace/log/logger.h"
#include "tiderace/task/offload.h"
#include "tiderace/task/transfer.h"

namespace tiderace::task {

Context*& Context::current() {
    // Set while a task runs and put back after it (enter()), so a thread may turn several loops.
    static thread_local Context* context = nullptr;
    return context;
}

Context& Context::here() {
    Context* context = current();
    TR_CHECK(context != nullptr, "awaited outside of a task that a Runner runs");
    return *context;
}

void log_failure(log::Logger* logger, const std::exception_ptr& failure) {
    if (logger == nullptr) return;
    try {
        std::rethrow_exception(failure);
    } catch (...) {
        core::log_exception(logger, "task", "a task");
    }
}

void Waiter::wake() {
    // Several things may wake it in one turn: it is resumed once.
    if (ready_) return;
    TR_CHECK(context_ != nullptr, "woken before it waits");
    context_->runner->make_ready(*this);
}

// A task that the Runner itself owns.
class Runner::Spawned final : public Root {
  public:
    Spawned(Runner& runner, std::size_t index) : runner_(&runner), index_(index) {}

  private:
    friend class Runner;

    void on_done(std::exception_ptr failure) override {
        Runner& runner = *runner_;
        if (failure) log_failure(runner.loop_->log(), failure);
        // The last one takes its place; this object ends here.
        runner.spawned_.back()->index_ = index_;
        std::swap(runner.spawned_[index_], runner.spawned_.back());
        runner.spawned_.pop_back();
    }

    Runner* runner_;
    std::size_t index_;
};

// The one of frames that run on while no task awaits them.
class Runner::Absent final : public Root {
    void on_done(std::exception_ptr) override {}
};

Runner::Runner(core::EventLoop& loop, core::WorkerPool* pool)
    : loop_(&loop), pool_(pool), absent_(std::make_unique<Absent>()) {
    if (pool != nullptr) jobs_ = std::make_unique<core::BlockingJobs>(loop, *pool, offloads_max);
}

Runner::~Runner() {
    TR_CHECK(depth_ == 0, "a runner ended inside one of its tasks");
    cancel_spawned();
    while (!kept_.empty()) kept_.pop_front().end();
    cancel_spawned();  // such as the recovery of a connection that one of them had
    // After the tasks, whose frames may hold references to them.
    locals_.end_all();
    if (asked_) loop_->forget_turn_end(*this);
}

void Runner::spawn(Task<> task) {
    spawned_.push_back(std::make_unique<Spawned>(*this, spawned_.size()));
    spawned_.back()->start(*this, std::move(task));
}

void Runner::cancel_spawned() {
    // Ends of frames may spawn tasks, which are also cancelled.
    while (!spawned_.empty()) {
        std::unique_ptr<Root> last = std::move(spawned_.back());
        spawned_.pop_back();
        destroy_later(std::move(last));
    }
}

void Runner::destroy_later(std::unique_ptr<Root> root) {
    root->cancel();
    if (depth_ > 0) dying_.push_back(std::move(root));
}

void Runner::keep(KeptFrame& frame) {
    frame.unlink();
    kept_.push_back(frame);
}

void Runner::make_ready(Waiter& waiter) {
    loop_->assert_on_loop();
    waiter.unlink();
    waiter.ready_ = true;
    ready_.push_back(waiter);
    if (asked_) return;
    asked_ = true;
    loop_->at_turn_end(*this);
}

void Runner::resume_first_of(IntrusiveList<Waiter>& ready) {
    Waiter& waiter = ready.pop_front();
    // Before it runs, so that it may wait, and be woken, again.
    waiter.ready_ = false;
    enter(waiter.handle_, *waiter.context_);
}

void Runner::run_ready() {
    loop_->assert_on_loop();
    TR_CHECK(depth_ == 0 && !settling_, "tasks run one after the other");
    // What these wake waits for the turn's end, so that a callback resumes no more than it woke.
    IntrusiveList<Waiter> now;
    now.splice_back(ready_);
    while (!now.empty()) resume_first_of(now);
}

void Runner::on_turn_end() {
    // Tasks that become ready meanwhile join the queue, which is checked again below.
    // Bounded, so that tasks that wake each other cannot keep the loop from its sockets and timers.
    for (std::size_t resumed = 0; resumed < resumes_per_turn_max && !ready_.empty(); ++resumed) {
        resume_first_of(ready_);
    }
    asked_ = !ready_.empty();
    if (asked_) loop_->at_turn_end(*this);
}

void Runner::enter(std::coroutine_handle<> handle, Context& context) {
    Root& root = context.owner();
    // Calls nest: a task may start another one, which runs until it first waits.
    Context* outer = std::exchange(Context::current(), &context);
    ++depth_;
    ++root.on_stack_;
    // A fresh allowance with each resumption: a task that gave way has earned it.
    spends_left_ = spends_max;
    resume(handle);
    --root.on_stack_;
    --depth_;
    Context::current() = outer;
    if (depth_ == 0) after_running();
}

// Here no coroutine is on the stack, so frames may be destroyed.
void Runner::after_running() {
    if (settling_) return;  // on_done started a task that ended at once: the loop below sees it
    settling_ = true;
    while (!settled_.empty()) settled_.pop_front().settle();
    settling_ = false;
    // Swapped out first: the end of a root may start a task that hands over another one.
    std::vector<std::unique_ptr<Root>>().swap(dying_);
}

Root::~Root() {
    TR_CHECK(on_stack_ == 0, "a task destroyed what runs it; use Runner::destroy_later()");
    end_frame();
}

void Root::start(Runner& runner, std::coroutine_handle<> frame, PromiseBase& promise,
                 Instant deadline) {
    runner.loop_->assert_on_loop();
    TR_CHECK(frame_ == nullptr, "a root runs one task at a time");
    context_ = {&runner, this, deadline};
    cancelled_ = false;
    frame_ = frame;
    promise_ = &promise;
    promise.set_joiner(*this);
    runner.enter(frame, context_);
}

void Root::end_frame() {
    ListHook::unlink();
    if (frame_ != nullptr) std::exchange(frame_, nullptr).destroy();
}

void Root::cancel() {
    if (frame_ == nullptr) return;
    Runner& runner = *context_.runner;
    // With a coroutine on the stack this frame may be below it. after_running() ends it, once all
    // have returned.
    if (!runner.running()) return end_frame();
    cancelled_ = true;
    if (!ListHook::linked()) runner.settled_.push_back(*this);
}

std::coroutine_handle<> Root::on_child_done(PromiseBase&) noexcept {
    if (!ListHook::linked()) context_.runner->settled_.push_back(*this);
    // The frame ends in settle(): its coroutine is still on this stack, at its final suspension.
    return std::noop_coroutine();
}

void Root::settle() {
    // Read before the frame ends, because the promise lies in it.
    const std::exception_ptr failure = promise_->failure();
    if (!cancelled_ && !failure) keep_value(*promise_);
    end_frame();
    if (!cancelled_) on_done(failure);
}

}  // namespace tiderace::task
