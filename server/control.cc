#include "server/control.h"

#include <csignal>
#include <utility>

namespace tiderace::server {

Control::Control(core::EventLoop& loop, core::Signals signals, ControlActions actions)
    : loop_(&loop), signals_(std::move(signals)), actions_(std::move(actions)) {
    handle_ = *loop.backend().attach(signals_.descriptor(), *this);
    loop.backend().watch(handle_, true, false);
}

Control::~Control() {
    loop_->backend().detach(handle_);
}

void Control::on_ready(bool, bool) {
    while (const auto signal = signals_.next()) {
        if (*signal == SIGUSR1) {
            actions_.look_at_files();
        } else if (!std::exchange(draining_, true)) {
            actions_.drain();
        } else if (*signal != SIGHUP) {
            actions_.end_at_once();
        }
    }
}

}  // namespace tiderace::server
