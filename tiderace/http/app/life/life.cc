#include "tiderace/http/app/life/life.h"

#include <utility>

namespace tiderace::http::app_parts {

void Life::drain() const {
    // A mounted App is part of the one that serves, and drains with it.
    if (outer_ != nullptr) return outer_->drain();
    const std::lock_guard held(lock_);
    // Any thread may call this, a handler on any loop for example. The lock keeps `stop_` alive
    // against a detach() at the same time.
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
    // The server is gone. An App may serve again, as tests do, and then it is not draining.
    stop_ = {};
    draining_ = false;
}

}  // namespace tiderace::http::app_parts
