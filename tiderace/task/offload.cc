#include "tiderace/task/offload.h"

namespace tiderace::task {

OffloadBase::~OffloadBase() {
    if (out_ != nullptr) out_->waiting = nullptr;  // it ends on its own; its result is dropped
}

//   begin() -> offloads_waiting_ --serve_offloads()--> on a thread -> Work::done(): woken
//                 `-- destroyed: unlinked                 `-- destroyed: the result is dropped
void OffloadBase::begin(std::coroutine_handle<> handle, std::unique_ptr<Work> work) {
    Waiter::suspend(handle);
    work->waiting = this;
    work->runner = Waiter::context()->runner;
    out_ = work.get();
    work_ = std::move(work);
    out_->runner->offload(*this);
}

void OffloadBase::Work::done() {
    // nullptr: the task was destroyed meanwhile. Work on a thread cannot be stopped, so its result
    // is dropped.
    if (waiting != nullptr) {
        waiting->take_result(*this);
        waiting->out_ = nullptr;
        waiting->wake();
    }
    runner->serve_offloads();
}

void Runner::offload(OffloadBase& waiting) {
    TR_CHECK(jobs_ != nullptr, "offload() needs a Runner with a worker pool");
    offloads_waiting_.push_back(waiting);
    serve_offloads();
}

void Runner::serve_offloads() {
    while (!offloads_waiting_.empty()) {
        OffloadBase& first = offloads_waiting_.front();
        if (!jobs_->start(first.work_)) {
            // The pool is full of other loops' work: when none of ours is out, nothing would notify
            // us.
            if (jobs_->out() == 0) loop_->arm(retry_, loop_->now() + 1ms);
            return;
        }
        first.unlink();
    }
}

}  // namespace tiderace::task
