#include "tiderace/db/readiness.h"

#include <fcntl.h>
#include <unistd.h>

#include "tiderace/db/error.h"

namespace tiderace::db {

Readiness::~Readiness() {
    forget();
}

void Readiness::keep(int fd) {
    forget();
    // A duplicate of ours: the library may close its own at any time, and the number would then be
    // another socket's while the loop still watches it.
    fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd_ < 0) throw Error(Fault::connection_lost, "no descriptor is left");
    kept_ = true;
    set_interest({.readable = true});
}

void Readiness::forget() {
    watch_.release();
    loop_->cancel(*this);
    interest_ = {};
    // look_at() takes the library's own descriptor, which is not ours to close.
    if (kept_) ::close(fd_);
    kept_ = false;
    fd_ = -1;
}

void Readiness::set_interest(core::Interest interest) {
    // Most waits want what the one before wanted, and a change is a system call.
    if (interest == interest_ && watch_.descriptor() == fd_) return;
    const auto set =
        watch_.descriptor() == fd_ ? watch_.change(interest) : watch_.watch(fd_, interest);
    if (!set) throw Error(Fault::connection_lost, set.error().message());
    interest_ = interest;
}

Readiness::Wait::~Wait() {
    readiness_->woken_ = false;
    // Woken, or never suspended. Otherwise its task ends at this await.
    if (readiness_->waiting_ != this) return;
    readiness_->end_waiting();
    readiness_->loop_->cancel(*readiness_);
}

void Readiness::Wait::await_suspend(std::coroutine_handle<> handle) {
    Readiness& readiness = *readiness_;
    readiness.set_interest(interest_);
    waiter_.suspend(handle);
    readiness.ready_ = false;
    readiness.noticed_ = false;
    readiness.waiting_ = this;
    if (for_answer_) readiness.loop_->begin_answer();
    if (until_ != Instant::max()) readiness.loop_->arm(readiness, until_);
}

void Readiness::on_ready(core::Watch&, core::Interest) {
    // A loop that is late looks twice before its tasks go on: that is no second answer.
    if (woken_) return;
    if (waiting_ == nullptr) {
        noticed_ = true;
        interest_ = {};
        (void)watch_.change({});  // otherwise it would be reported in every turn
        return;
    }
    ready_ = woken_ = true;
    loop_->cancel(*this);
    end_waiting()->waiter_.wake();
}

void Readiness::on_expired() {
    if (waiting_ != nullptr) end_waiting()->waiter_.wake();
}

void Readiness::expire() {
    loop_->cancel(*this);
    on_expired();
}

Readiness::Wait* Readiness::end_waiting() {
    if (waiting_->for_answer_) loop_->end_answer();
    return std::exchange(waiting_, nullptr);
}

}  // namespace tiderace::db
