// Control: the signals of a running server.
//
//   SIGTERM, SIGINT   drain: stop accepting, finish what runs, end at the deadline; a second one
//                     ends at once
//   SIGHUP            drain; a second one changes nothing: a shell and its terminal each send one
//   SIGUSR1           reopen the log files, look for new certificates
//
// Owner    serve(); made before the loops run.
// Thread   The first loop's.
#pragma once

#include <functional>

#include "tiderace/core/event_loop.h"
#include "tiderace/core/signals.h"

namespace tiderace::server {

struct ControlActions {
    std::function<void()> drain;
    std::function<void()> end_at_once;
    std::function<void()> look_at_files;
};

class Control final : private core::IoObserver {
  public:
    Control(core::EventLoop& loop, core::Signals signals, ControlActions actions);
    ~Control();

  private:
    void on_ready(bool readable, bool writable) override;

    core::EventLoop* loop_;
    core::Signals signals_;
    ControlActions actions_;
    core::IoHandle handle_;
    bool draining_ = false;
};

}  // namespace tiderace::server
