#include "tiderace/http/app/life/life.h"

#include <utility>

namespace tiderace::http::app {

void Life::drain() {
    if (outer_ != nullptr) return outer_->drain();
    const std::lock_guard held(lock_);
    if (!draining_.exchange(true) && stop_) stop_();
}

void Life::attach(std::function<void()> stop) {
    const std::lock_guard held(lock_);
    stop_ = std::move(stop);
    // drain() was called before anything served.
    if (draining_) stop_();
}

void Life::begin() {
    const std::lock_guard held(lock_);
    draining_ = true;
}

void Life::detach() {
    const std::lock_guard held(lock_);
    stop_ = {};
    draining_ = false;
}

}  // namespace tiderace::http::app
