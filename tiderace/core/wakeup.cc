#include "tiderace/core/wakeup.h"

#include "tiderace/core/contain.h"
#include "tiderace/core/event_loop.h"

namespace tiderace::core {

Wakeup::Wakeup(EventLoop& loop) : list_(loop.wakeups()) {}
Wakeup::~Wakeup() {
    list_->remove(*this);
}

void Wakeup::wake() {
    list_->add(*this);
}

void WakeupList::add(Wakeup& woken) {
    const std::lock_guard held(lock_);
    // The loop has ended, or is woken for it already.
    if (backend_ == nullptr || woken.linked()) return;
    list_.push_back(woken);
    // One call wakes the loop for all that are added before it looks.
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

void WakeupList::run_waiting(log::Logger* log) {
    // Counted first: a Wakeup that wakes itself again must not hold the turn.
    for (std::size_t left = waiting_.load(std::memory_order_acquire); left > 0; --left) {
        Wakeup* const first = take_first();
        if (first == nullptr) return;  // an earlier callback removed it
        // Without the lock; may end itself.
        contain(log, "core", "a wake-up", [first]() TR_ON_LOOP { first->on_woken(); });
    }
}

void WakeupList::close() {
    const std::lock_guard held(lock_);
    // A wake() after the loop's end does nothing.
    backend_ = nullptr;
    while (!list_.empty()) list_.pop_front();
    waiting_.store(0, std::memory_order_release);
}

}  // namespace tiderace::core
