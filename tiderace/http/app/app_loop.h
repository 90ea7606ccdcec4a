// AppLoop: what one loop has of an App: its site, its tasks, its states.
//
// Owner    What serves the App; one per loop, ends before the loop and after its connections.
// Thread   The loop's.
// Errors   fault(): a part of the App that this loop could not make; it must not be served then.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "tiderace/core/budget.h"
#include "tiderace/core/worker_pool.h"
#include "tiderace/http/app/app.h"
#include "tiderace/http/request_metrics.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/task/runner.h"

namespace tiderace::net {
struct TcpServerCounters;
}

namespace tiderace::http {

class AppLoop final {
  public:
    AppLoop(core::EventLoop& loop, const App& app, core::WorkerPool* pool);
    ~AppLoop();

    const std::optional<Error>& fault() const { return fault_; }
    SiteLoop& site() { return *site_; }
    task::Runner& runner() { return runner_; }
    const App& app() const { return *app_; }
    const States& states() const { return states_; }
    // The budget of all bodies that the loop reads whole.
    const core::Ref<core::Budget>& bodies() const { return bodies_; }
    // Ends the background tasks and waits for detached ones; `done` is called at `deadline` at the
    // latest.
    void drain(Instant deadline, unique_function<void()> done);
    // The route whose function is on the stack, for the watchdog; nullptr: none. Any thread.
    std::atomic<const Matched*>& running() { return running_; }
    // What a server of its connections counts; with App::metrics() it is shown.
    void count_connections(std::shared_ptr<const net::TcpServerCounters> counters);
    // A route is a WebSocket: HTTP/2 has to announce extended CONNECT.
    bool takes_websockets() const;

  private:
    std::size_t bodies_bytes_max() const;

    const App* app_;
    std::atomic<const Matched*> running_ = nullptr;
    States states_;
    std::optional<Error> fault_;
    std::optional<SiteLoop> site_;
    std::optional<LagProbe> lag_;  // with metrics
    task::Runner runner_;          // its tasks end before what they use
    core::Ref<core::Budget> bodies_;
    bool first_loop_ = false;
    std::optional<app_parts::BackgroundTasks> background_;
};

}  // namespace tiderace::http
