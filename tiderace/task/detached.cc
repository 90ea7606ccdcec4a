#include "tiderace/task/detached.h"

#include <utility>

namespace tiderace::task {

DetachedTasks::~DetachedTasks() {
    if (armed()) runner_->loop().cancel(*this);
}

void DetachedTasks::drain(Instant deadline, unique_function<void()> done) {
    if (running_ == 0) return done();
    done_ = std::move(done);
    runner_->loop().arm(*this, deadline);
}

void DetachedTasks::on_ended() {
    if (running_ > 0 || !done_) return;
    if (armed()) runner_->loop().cancel(*this);
    std::exchange(done_, {})();
}

void DetachedTasks::on_expired() {
    if (done_) std::exchange(done_, {})();
}

}  // namespace tiderace::task
