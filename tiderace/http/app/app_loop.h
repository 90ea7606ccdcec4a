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
#include "tiderace/http/app/body/whole_body.h"
#include "tiderace/http/handler.h"
#include "tiderace/http/route/router.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

class AppLoop final : public Handler, public AccessLog {
  public:
    AppLoop(core::EventLoop& loop, const App& app, core::WorkerPool* pool);
    ~AppLoop() override;

    void handle(Exchange& exchange) override;
    // The access log of the request's route, group or App, and App::on_answer.
    void write(const AccessRecord& record) override;
    // What middleware says about logs: each once. open_logs() finds the open one of each.
    static std::vector<AccessLogTarget> access_logs(const App& app);
    void open_logs(AccessLog* otherwise, unique_function<AccessLog*(const AccessLogTarget&)> find);
    // False: write() has no effect, so the site needs no log. After open_logs().
    bool logs_answers() const;
    task::Runner& runner() { return runner_; }
    const App& app() const { return *app_; }
    const app_parts::States& states() const { return states_; }
    // Ends the background tasks and waits for detached ones; `done` is called at `deadline` at the
    // latest.
    void drain(Instant deadline, unique_function<void()> done);
    // For the site, before its own error pages.
    ResponseFilter& error_pages() { return error_pages_; }
    // A route is a WebSocket: HTTP/2 has to announce extended CONNECT.
    bool takes_websockets() const;

  private:
    class BodyCollector;
    class FormReader;

    // The App's error pages, by scope. As a filter of the site it shows those of requests that
    // were answered before they had a route.
    class ErrorPages final : public ResponseFilter {
      public:
        ErrorPages(const App& app, task::Runner& runner);
        bool empty() const { return prefixes_.empty(); }
        void filter(Exchange& exchange, Response& response) override {
            if (!empty() && !exchange.has_route_filter()) show(exchange, response, 0);
        }
        void show(Exchange& exchange, Response& response, std::uint32_t scope) const;

      private:
        std::uint32_t scope_of(ByteView path) const;

        const App* app_;
        task::Runner* runner_;
        std::vector<std::uint32_t> prefixes_;  // scopes with a page, the longest prefix first
    };

    // The middleware of a scope of the App and of the scopes around it.
    class Chain final : public ResponseFilter {
      public:
        void filter(Exchange& exchange, Response& response) override;
        bool empty() const {
            return rules.empty() && filters.empty() && error_pages == nullptr && target == nullptr;
        }

        std::vector<AccessRule*> rules;
        std::vector<ResponseFilter*> filters;     // the innermost first
        std::size_t last_filters = 0;             // of them, at their end: Layer::goes_last
        const ErrorPages* error_pages = nullptr;  // of the App; nullptr: there are none
        const AccessLogTarget* target = nullptr;  // nullptr: the log of ServeOptions
        AccessLog* log = nullptr;                 // where `target` is one and not "off"
        std::uint32_t scope = 0;
        std::uint64_t body_bytes_max = 0;
        json::Unknown unknown_members = json::Unknown::refuse;
        Duration handler_timeout{};
        bool timeout_is_own = false;
    };

    void add_chain(core::WorkerPool* pool, const App::Scope& scope, const Chain* outer);
    // False: answered, or it goes on later.
    static bool pass(Chain& chain, Exchange& exchange);
    Chain& chain_of(const Request& request, route::Found found) const;
    route::Found find(const Request& request, route::Parameters& parameters) const;
    std::size_t bodies_bytes_max() const;
    Instant deadline(const Chain& chain) const;
    void refuse(Exchange& exchange, const route::Found& found) const;
    Instant call_deadline(const App::Route& route, const Chain& chain) const;
    void prepare(app_parts::Call& call, const App::Route& route) const;
    void find_and_call(Exchange& exchange, const App::Route& route, std::string body = {});
    void collect_body(const App::Route& route, Exchange& exchange);
    void read_form(const App::Route& route, Exchange& exchange);

    const App* app_;
    std::vector<std::shared_ptr<void>> owned_;
    app_parts::States states_;
    std::vector<Layer> layers_;
    std::vector<std::unique_ptr<Chain>> chains_;  // by scope
    task::Runner runner_;                         // its tasks end before what they use
    ErrorPages error_pages_;
    core::Ref<core::Budget> bodies_;
    AccessLog* log_ = nullptr;                  // of ServeOptions
    std::vector<std::shared_ptr<void>> parts_;  // of endpoints, which may have tasks of their own
    bool first_loop_ = false;
    std::optional<app_parts::BackgroundTasks> background_;
};

}  // namespace tiderace::http
