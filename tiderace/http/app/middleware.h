// Middleware: what is done before a handler, and with its answer.
//
//   app.use([](const Request& request) -> std::optional<Problem> {     // before: nullopt goes on
//       if (!request.secure) return Problem{.status = 403};
//       return std::nullopt;
//   });
//   app.use([](Cookies cookies, Users& users) -> Task<std::optional<Redirect>> { … });   // a task
//   app.use([](const Request&, Response& response) { response.set("X-Frame-Options", "DENY"); });
//   app.group("/admin").use(basic_auth({.verify = …})).get<"/">(page);
//   app.post<"/login">(login, rate_limit({.per_minute = 5}));          // of one route
//
//   request -> app's -> group's -> route's -> handler -> route's -> group's -> app's -> client
//               before, in the order of use                after, the other way round
//
// A function before the handler takes what handlers take, except path parameters and the body, and
// returns nothing, a std::optional, a std::expected<void, E>, or a Task of one. The value inside is
// the answer, as if a handler had returned it. A function after the handler takes const Request&
// and Response&. The App's own middleware also sees requests without a route, and a group's
// those with a wrong method. Functions after the handler see every answer, time-outs too.
//
// What comes ready made: http/app/ready_middleware.h. A route without middleware pays nothing.
//
// Owner    The App. One copy for all loops, called as const; make() makes the parts of a loop.
// Thread   Any loop's, at once.
// Errors   An exception is answered as a handler's: a Problem as itself, a PassingFault
//          with 503, any other with 500.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "tiderace/base/shared_function.h"
#include "tiderace/http/app/function_rule.h"
#include "tiderace/json/type.h"

namespace tiderace::http {

// Where answers are logged: one line each (http/access_log.h).
struct AccessLogTarget {
    std::string path = "-";  // a file, appended to; "-": standard output; "off": nowhere
    AccessLogFormat format = AccessLogFormat::combined;
    bool operator==(const AccessLogTarget&) const = default;
};

class Middleware {
  public:
    using Make = shared_function<Layer(LayerPlace&)>;

    // Called for each loop when it starts.
    explicit Middleware(Make make) : make_(std::move(make)) {}
    template <typename F>
        requires app_parts::HasSignature<F>
    Middleware(F function)  // NOLINT: `use(lambda)`
        : make_([shared = std::make_shared<const F>(std::move(function))](LayerPlace& place) {
              if constexpr (app_parts::AnswerFunction<F>) {
                  return Layer(std::make_shared<app_parts::FunctionFilter<F>>(shared));
              } else if constexpr (app_parts::is_rule<F>()) {
                  return Layer(std::make_shared<app_parts::FunctionRule<F>>(shared, place));
              } else {
                  return Layer();
              }
          }) {}

    // No code, but other limits and options for the routes below it; the innermost counts.
    static Middleware body_limit(std::uint64_t bytes_max);
    static Middleware unknown_members(json::Unknown unknown);
    static Middleware time_limit(Duration timeout);
    static Middleware access_log(AccessLogTarget target);

    Layer make(LayerPlace& place) const { return make_ ? make_(place) : Layer(); }
    std::optional<std::uint64_t> body_bytes_max() const { return body_bytes_max_; }
    std::optional<json::Unknown> unknown_members() const { return unknown_members_; }
    std::optional<Duration> handler_timeout() const { return handler_timeout_; }
    // nullptr: it says nothing about logs.
    const AccessLogTarget* access_log() const { return access_log_.get(); }

  private:
    Middleware() = default;

    Make make_;
    std::optional<std::uint64_t> body_bytes_max_;
    std::optional<json::Unknown> unknown_members_;
    std::optional<Duration> handler_timeout_;
    std::shared_ptr<const AccessLogTarget> access_log_;
};

}  // namespace tiderace::http
