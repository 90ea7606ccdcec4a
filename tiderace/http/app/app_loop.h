// AppLoop: an App on one loop: its handler, its tasks, its states.
//
//   exchange -> router -> [body] -> endpoint
//                 \-> 404, 405 with Allow, 204 for OPTIONS
//
// Owner    Whoever serves the App; one per loop, ends before the loop and after its connections.
// Thread   The loop's.
#pragma once

#include <memory>
#include <vector>

#include "tiderace/core/worker_pool.h"
#include "tiderace/http/app/app.h"
#include "tiderace/http/handler.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

class AppLoop final : public Handler {
  public:
    AppLoop(core::EventLoop& loop, const App& app, core::WorkerPool* pool);

    void handle(Exchange& exchange) override;
    task::Runner& runner() { return runner_; }

  private:
    class BodyCollector;

    Instant deadline() const;
    void refuse(Exchange& exchange, const route::Found& found) const;
    void collect_body(const App::Route& route, app::Call& call);

    const App* app_;
    std::vector<std::shared_ptr<void>> owned_;
    app::States states_;
    task::Runner runner_;  // last: its tasks end before the states that they use
};

}  // namespace tiderace::http
