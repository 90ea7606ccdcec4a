// Internal. Middleware: what is done before a handler, and with its answer.
//
//   app.use([](const Request& request) -> std::optional<Problem> {     // before: nullopt goes on
//       if (!request.secure) return Problem{.status = 403};
//       return std::nullopt;
//   });
//   app.use([](Cookies cookies, Users& users) -> Task<std::optional<Redirect>> { … });   // a task
//   app.use([](const Request&, Response& response) { response.header("X-Harbour", "north"); });
//   app.group("/admin").use(basic_auth({.verify = …})).get<"/">(page);
//   app.post<"/login">(login, rate_limit({.per_minute = 5}));          // of one route
//
//   request -> app's -> group's -> route's -> handler -> route's -> group's -> app's -> client
//               before, in the order of use                after, the other way round
//
// A function before the handler takes what handlers take, except path parameters and the body, and
// returns nothing, a std::optional, a std::expected<void, E>, or a Task of one. The value inside is
// the answer, as if a handler had returned it. A std::expected<User, E> leaves a User, which the
// functions behind it take as `const User&` (a WebSocket's do not: it outlives the request).
//
// A function after the handler takes const Request& and Response&. The App's own middleware also
// sees requests without a route, and a group's those with a wrong method. Functions after the
// handler see every answer, time-outs too.
//
// What comes ready made: http/app/ready_middleware.h. A route without middleware pays nothing.
//
// Owner    The App. One copy for all loops, called as const; make() makes the parts of a loop.
// Thread   Any loop's, at once.
// Errors   An exception is answered as a handler's: a Problem as itself, a TransientError
//          with 503, any other with 500.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "tiderace/http/app/function_rule.h"
#include "tiderace/http/layer.h"

namespace tiderace::http {

class Middleware : public Setting {
  public:
    // With notes for documents: what it requires, and the statuses that it answers with.
    Middleware noted(RouteNotes about) && {
        notes = std::make_shared<const RouteNotes>(std::move(about));
        return std::move(*this);
    }
    // No code, but other limits and options for the routes below it; the innermost counts.
    explicit Middleware(Setting setting) : Setting(std::move(setting)) {}
    // Called for each loop when it starts.
    explicit Middleware(Make made_by) : Setting{.make = std::move(made_by)} {}
    template <typename F>
        requires app_parts::HasSignature<F>
    Middleware(F function)  // NOLINT: `use(lambda)`
        : Middleware(
              Make([shared = std::make_shared<const F>(std::move(function))](LayerPlace& place) {
                  if constexpr (app_parts::AnswerFunction<F>) {
                      return Layer(std::make_shared<app_parts::FunctionFilter<F>>(shared));
                  } else if constexpr (app_parts::is_rule<F>()) {
                      return Layer(std::make_shared<app_parts::FunctionRule<F>>(shared, place));
                  } else {
                      return Layer();
                  }
              })) {
        if constexpr (!app_parts::AnswerFunction<F>) {
            if constexpr (app_parts::is_rule<F>()) {
                app_parts::SignatureOf<F>::template Arguments<app_parts::NeedsOf>::list(needs);
                using Result = typename app_parts::SignatureOf<F>::Result;
                using Value = typename app_parts::ValueOf<Result>::Type;
                if constexpr (app_parts::is_leaving<Value>) {
                    leaves = state_key<typename Value::value_type>;
                }
                if constexpr (app_parts::refusal_of<Value> != app_parts::no_refusal) {
                    notes = std::make_shared<const RouteNotes>(
                        RouteNotes{.refusals = {app_parts::refusal_of<Value>}});
                }
            }
        }
    }
};

}  // namespace tiderace::http
