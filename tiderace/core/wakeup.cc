#include "tiderace/core/wakeup.h"

#include "tiderace/core/event_loop.h"

namespace tiderace::core {

Wakeup::Wakeup(EventLoop& loop) : list_(loop.wakeups()) {}

void WakeupList::add(Wakeup& woken) {
    const std::lock_guard held(lock_);
    if (backend_ == nullptr || woken.linked()) return;
    list_.push_back(woken);
    // One call wakes the loop for all that come before it looks.
    if (waiting_.fetch_add(1, std::memory_order_release) == 0) backend_->wake();
}

void WakeupList::remove(Wakeup& ended) {
    const std::lock_guard held(lock_);
    if (!ended.linked()) return;
    ended.unlink();
    waiting_.fetch_sub(1, std::memory_order_release);
}

Wakeup* WakeupList::take_first() {
    const std::lock_guard held(lock_);
    if (list_.empty()) return nullptr;
    waiting_.fetch_sub(1, std::memory_order_release);
    return &list_.pop_front();
}

void WakeupList::run_waiting() {
    // Counted first: one that wakes itself for ever must not hold the turn.
    for (std::size_t left = waiting_.load(std::memory_order_acquire); left > 0; --left) {
        Wakeup* const first = take_first();
        if (first == nullptr) return;  // an earlier one ended it
        first->on_woken();             // without the lock; may end itself
    }
}

void WakeupList::close() {
    const std::lock_guard held(lock_);
    backend_ = nullptr;
    while (!list_.empty()) list_.pop_front();
    waiting_.store(0, std::memory_order_release);
}

}  // namespace tiderace::core
