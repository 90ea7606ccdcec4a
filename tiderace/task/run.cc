#include "tiderace/task/run.h"

#include <stdexcept>

#include "tiderace/base/thread_role.h"
#include "tiderace/core/worker_pool.h"

namespace tiderace::task {
namespace {

class Program final : public Root {
  public:
    explicit Program(core::EventLoop& loop) : loop_(&loop) {}

    std::exception_ptr failure;

  private:
    void on_done(std::exception_ptr why) override {
        failure = std::move(why);
        loop_->request_stop();  // also before the loop runs: the task may end at once
    }

    core::EventLoop* loop_;
};

}  // namespace

void run_to_end(Task<> task) {
    TR_CHECK(Context::current() == nullptr && !ThreadRole::any_here(),
             "run() on a thread whose loop turns: in a handler or a task, co_await the task");
    auto loop = core::EventLoop::create({});
    if (!loop) throw std::runtime_error(loop.error().message());
    core::WorkerPool pool;
    Runner runner(**loop, &pool);
    // Declared last, so that its task ends while the runner, the pool and the loop still exist.
    Program program(**loop);
    program.start(runner, std::move(task));
    (*loop)->run();
    if (program.failure) std::rethrow_exception(program.failure);
}

}  // namespace tiderace::task
