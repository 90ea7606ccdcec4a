#include "tiderace/task/sleep.h"

#include "tiderace/base/moment.h"

namespace tiderace::task {

void Sleep::await_suspend(std::coroutine_handle<> handle) {
    waiter_.suspend(handle);
    core::EventLoop& loop = waiter_.context()->runner->loop();
    // sleep(0) gives way to the others: it goes on in this turn, behind those that are ready.
    if (duration_ == Duration::zero()) return waiter_.wake();
    // A sleep beyond the clock's range never ends.
    if (duration_ > Duration::zero()) until_ = moment_after(loop.now(), duration_);
    loop.arm(*this, until_);
}

}  // namespace tiderace::task
