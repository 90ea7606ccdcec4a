#include "tiderace/task/lookup.h"

#include "tiderace/core/worker_pool.h"

namespace tiderace::task {
namespace {

// The resolver of one loop.
class Directory {
  public:
    explicit Directory(Runner& runner) : runner_(&runner) {}

    core::Resolver& resolver() {
        if (!resolver_) resolver_.emplace(runner_->loop(), pool(), std::move(options_));
        return *resolver_;
    }
    void set_look_up(decltype(core::ResolverOptions::look_up) look_up) {
        TR_CHECK(!resolver_.has_value(), "set_look_up() after the first lookup");
        options_.look_up = std::move(look_up);
    }

  private:
    core::WorkerPool& pool() {
        if (runner_->pool() != nullptr) return *runner_->pool();
        // As many threads as a resolver uses (ResolverOptions::lookups_max), with its queue's
        // length.
        return own_pool_.emplace(2, 256);
    }

    Runner* runner_;
    core::ResolverOptions options_;
    std::optional<core::WorkerPool> own_pool_;  // for a runner without one
    std::optional<core::Resolver> resolver_;
};

}  // namespace

void Lookup::await_suspend(std::coroutine_handle<> handle) {
    waiter_.suspend(handle);
    resolve(waiter_.context()->runner->local<Directory>().resolver(), host_, until_);
}

void Lookup::on_resolved(Addresses found) {
    found_ = std::move(found);
    waiter_.wake();
}

void set_look_up(Runner& runner, decltype(core::ResolverOptions::look_up) look_up) {
    runner.local<Directory>().set_look_up(std::move(look_up));
}

}  // namespace tiderace::task
