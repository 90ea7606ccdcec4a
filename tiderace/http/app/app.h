// App: an HTTP application: routes, what handlers share, how it is served.
//
//   #include <tiderace/app.h>
//
//   int main() {
//       tiderace::http::App app;
//       app.get<"/">([] { return "hello\n"; });
//       app.get<"/square/{n}">([](int n) { return std::to_string(n * n) + "\n"; });
//       return app.serve({.listen = ":8080"});
//   }
//
// What a handler may take stands in http/app/arguments.h, what it may return in http/app/results.h,
// how a path is matched in http/route/pattern.h. Handlers are shared by all loops and called
// as const: what changes belongs into a state.
//
// Owner    The program; built before it serves, then constant.
// Thread   One, until it serves; then all loops read it.
// Errors   A route that cannot be (a bad pattern, too few parameters) does not compile where the
//          pattern is a template argument; the others, and two routes that conflict, are one
//          sentence when it serves, with the place of each in the source.
// Limits   AppOptions.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/base/shared_function.h"
#include "tiderace/http/app/app_options.h"
#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/app/group.h"
#include "tiderace/http/app/life/background.h"
#include "tiderace/http/app/life/ready_rule.h"
#include "tiderace/http/app/middleware.h"
#include "tiderace/http/app/openapi/openapi.h"
#include "tiderace/http/app/pages/error_page.h"
#include "tiderace/http/filter/trusted_proxies.h"
#include "tiderace/http/stages.h"

namespace tiderace::metrics {
class Registry;
}
namespace tiderace::http {
class Site;
namespace app_parts {
class AppMetrics;
class OpenApiDocument;
class TemplateFolder;
}  // namespace app_parts

struct ServeOptions;     // tiderace/app.h
struct TemplateOptions;  // http/app/pages/page.h

class App : public Scoped<App, 0> {
  public:
    // Compiled once, and not in each file of the program.
    App();
    explicit App(AppOptions options);
    App(App&& other) noexcept;  // `&app` then refers to an empty one; lambdas take Life instead
    App& operator=(App&& other) noexcept;
    ~App();

    // Routes of one host ("api.example.org", or "*.example.org"), without its port. A host with
    // routes has no others; every other host has the App's routes.
    Group<0> host(std::string name);
    // All routes of another App below a prefix, with their middleware, states and error pages. Its
    // options do not come with it; its on_answer() and trusted_proxies() are faults.
    App& mount(std::string prefix, App&& other);

    // The templates of pages (http/app/pages/page.h): all of a folder, compiled now.
    App& templates(const std::string& folder);
    App& templates(const std::string& folder, const TemplateOptions& options);

    // Proxies that are believed about clients: http/filter/trusted_proxies.h.
    App& trusted_proxies(const TrustedProxyOptions& options);

    // One for each loop, made when it starts: handlers take it as `S&`.
    //   app.state<Counters>([](core::EventLoop&) { return std::make_unique<Counters>(); });
    template <typename S, typename F>
    App& state(F make) {
        states_.state<S>(std::move(make));
        return *this;
    }
    // One for all loops: handlers take it as `const S&`. It outlives the App's serving.
    template <typename S>
    App& share(const S& shared) {
        states_.share(shared);
        return *this;
    }
    template <typename S>
        requires(!std::is_lvalue_reference_v<S>)
    App& share(S&& temporary) {
        states_.share(std::move(temporary));
        return *this;
    }
    // GET: an OpenAPI 3.1 document of the routes, and a page to try them; the middleware stands
    // before both (http/app/openapi/openapi.h).
    App& openapi(route::PlacedPattern path, OpenApiInfo info = {},
                 std::vector<Middleware> middleware = {});
    // GET: 200 for as long as the process answers. No middleware runs before it, because sessions
    // or users may be in a database that is away.
    App& health(route::PlacedPattern path);
    // GET: 200; 503 while it drains, and when `check` is false or lasts longer than `limit`. The
    // check takes what middleware takes and returns bool or Task<bool>.
    App& ready(route::PlacedPattern path);
    template <typename F>
    App& ready(route::PlacedPattern path, F check, Duration limit = 5s) {
        return add_ready(std::move(path), limit, app_parts::ready_rule(std::move(check)));
    }
    // GET: what is counted, for Prometheus; the program adds its own (metrics/metrics.h).
    metrics::Registry& metrics(route::PlacedPattern path, std::vector<Middleware> middleware = {});
    // Beside the requests, once or on each loop (http/app/life/background.h).
    template <typename F>
    App& background(F task, BackgroundOptions options = {}) {
        return add_background(app_parts::background(std::move(task), options));
    }
    // Jobs, each with its name for the log (http/app/life/schedule.h). They take states.
    template <typename F>
    App& every(Duration interval, std::string name, F job) {
        return add_job(std::move(name), app_parts::Schedule::every(interval),
                       app_parts::background(std::move(job), {}));
    }
    // The five fields of cron: "30 3 * * MON-FRI".
    template <typename F>
    App& at(std::string_view times, std::string name, F job) {
        return add_job(std::move(name), app_parts::Schedule::at(times),
                       app_parts::background(std::move(job), {}));
    }

    // Called on its loop for each answer that ended, for logs and counters.
    App& on_answer(shared_function<void(const AccessRecord&)> call);

    // Serves until SIGTERM or SIGINT, which drain. 0: an orderly end; 1: it could not start.
    int serve(const ServeOptions& options);
    // While it serves, on any thread. drain() ends it as SIGTERM does; again: nothing happens.
    void drain() const;
    bool draining() const;
    void set_log_level(log::Level level);

    const AppOptions& options() const { return options_; }
    // What is wrong with the first route that cannot be, or that takes what it would not get; "":
    // nothing.
    std::string fault() const;
    const Site& site() const { return *site_; }

  private:
    friend class AppLoop;
    friend class app_parts::OpenApiDocument;
    friend class Routes<App, 0>;
    friend class Scoped<App, 0>;
    friend struct app_parts::Scope;

    std::uint32_t add_scope(std::uint32_t parent, std::string prefix);
    App& add_background(app_parts::Background task);
    App& add_job(std::string name, std::expected<app_parts::Schedule, std::string> schedule,
                 app_parts::Background job);
    app_parts::Scope scope() { return {this, 0}; }
    void add(std::uint32_t scope, wire::Method method, route::PlacedPattern placed,
             std::size_t parameters, std::unique_ptr<app_parts::Endpoint> endpoint,
             std::vector<Middleware> middleware);
    // An endpoint that is made for each loop, and takes so many parameters of the path.
    void add(std::uint32_t scope, wire::Method method, route::PlacedPattern placed,
             std::size_t parameters, shared_function<std::shared_ptr<Handler>(LayerPlace&)> make);
    void check_pages(std::size_t first_use);
    std::string missing() const;
    std::string missing(const std::vector<Need>& needs, std::uint32_t scope,
                        std::size_t settings) const;
    void set_error_page(std::uint32_t scope, app_parts::CheckedErrorPage page);
    App& add_ready(route::PlacedPattern path, Duration limit, Middleware check);

    AppOptions options_;
    std::shared_ptr<Site> site_;
    // By the site's endpoints; nullptr: no function answers there.
    std::vector<std::unique_ptr<app_parts::Endpoint>> routes_;
    LoopStates states_;
    std::shared_ptr<app_parts::TemplateFolder> pages_;
    std::vector<app_parts::PageUse> page_uses_;
    std::vector<app_parts::Background> background_;
    std::shared_ptr<app_parts::Life> life_;
    std::shared_ptr<app_parts::AppMetrics> metrics_;  // nullptr: nothing is counted
    shared_function<void(const AccessRecord&)> on_answer_;
    std::string fault_;
};

}  // namespace tiderace::http
