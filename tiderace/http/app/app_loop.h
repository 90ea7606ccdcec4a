// AppLoop: an App on one loop: its handler, its tasks, its states, its middleware.
//
//   exchange -> router -> middleware -> [body] -> endpoint
//                 \-> 404, 405 with Allow, 204 for OPTIONS
//
// Owner    What serves the App; one per loop, ends before the loop and after its connections.
// Thread   The loop's.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tiderace/core/worker_pool.h"
#include "tiderace/http/app/app.h"
#include "tiderace/http/handler.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

class AppLoop final : public Handler, public AccessLog {
  public:
    AppLoop(core::EventLoop& loop, const App& app, core::WorkerPool* pool);
    ~AppLoop() override;

    void handle(Exchange& exchange) override;
    // For App::on_answer.
    void write(const AccessRecord& record) override {
        if (app_->on_answer_) app_->on_answer_(record);
    }
    task::Runner& runner() { return runner_; }
    const App& app() const { return *app_; }
    // Ends the background tasks; `done` is called at `deadline` at the latest.
    void drain(Instant deadline, unique_function<void()> done) {
        background_->drain(deadline, std::move(done));
    }
    // A route is a WebSocket: HTTP/2 has to announce extended CONNECT.
    bool takes_websockets() const;

  private:
    class BodyCollector;
    class FormReader;

    // The middleware of a scope of the App and of the scopes around it.
    class Chain final : public ResponseFilter {
      public:
        void filter(Exchange& exchange, Response& response) override {
            for (ResponseFilter* one : filters) one->filter(exchange, response);
        }
        bool empty() const { return rules.empty() && filters.empty(); }

        std::vector<AccessRule*> rules;
        std::vector<ResponseFilter*> filters;  // the innermost first
        std::uint64_t body_bytes_max = 0;
        Duration handler_timeout{};
        bool timeout_is_own = false;
    };

    void add_chain(core::WorkerPool* pool, const App::Scope& scope, const Chain* outer);
    // False: answered, or it goes on later.
    static bool pass(Chain& chain, Exchange& exchange);
    route::Found find(const Request& request, route::Parameters& parameters) const;
    Instant deadline(const Chain& chain) const;
    void refuse(Exchange& exchange, const route::Found& found) const;
    Instant call_deadline(const App::Route& route, const Chain& chain) const;
    void call(Exchange& exchange, const App::Route& route, std::string body = {});
    void collect_body(const App::Route& route, Exchange& exchange);
    void read_form(const App::Route& route, Exchange& exchange);

    const App* app_;
    std::vector<std::shared_ptr<void>> owned_;
    app::States states_;
    std::vector<Layer> layers_;
    std::vector<std::unique_ptr<Chain>> chains_;  // by scope
    task::Runner runner_;                         // its tasks end before what they use
    std::vector<std::shared_ptr<void>> parts_;    // of endpoints, which may have tasks of their own
    bool first_loop_ = false;
    std::optional<app::BackgroundTasks> background_;
};

}  // namespace tiderace::http
