// Internal. Background tasks: what an App does beside its requests.
//
//   app.background([](const Life& life, Mails& mails) -> Task<> {  // states, as handlers take them
//       while (!life.draining()) co_await mails.send_next();
//   }, {.grace = 5s, .restart = 1s});
//
//   App serves --> running --returns--> over
//                   ^   |
//                   |   '--throws: one log line--> resting (restart, doubled each time) or over
//                   '-----------------------------'
//   App drains --> grace --> cancelled at its await: over
//
// A job (schedule.h) rests until it is due; then it runs, and rests again.
//
// Owner    The App; BackgroundTasks: AppLoop.
// Thread   The thread of the loop that it runs on: the first, or each.
// Errors   An exception is one line of the log. An App without a state that one takes does not
//          serve.
// Keywords: background task, cron, periodic
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tiderace/base/shared_function.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/base/units.h"
#include "tiderace/http/app/call.h"
#include "tiderace/http/app/endpoint.h"
#include "tiderace/http/app/life/life.h"
#include "tiderace/http/app/life/schedule.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/task.h"

namespace tiderace::http {

struct BackgroundOptions {
    bool each_loop = false;  // or once in the process
    // From the beginning of draining until it is cancelled. The process waits for it, at most
    // ServeOptions::drain. Zero: it is cancelled at once.
    Duration grace = Duration::zero();
    // Until it runs again after an exception, doubled after each that follows. Zero: it does not.
    Duration restart = Duration::zero();
    // The longest, unless `restart` is longer. Once it ran this long, the doubling begins anew.
    Duration restart_max = 1min;
};

namespace app_parts {

struct Background {
    // nullopt: a state is missing.
    shared_function<std::optional<task::Task<>>(const States&)> start;
    BackgroundOptions options;
    std::vector<Need> needs = {};
    std::string name = {};                  // of a job
    std::optional<Schedule> schedule = {};  // nullopt: it begins with the App, and runs once
};

// Calls a function whose parameters are states.
template <typename... A>
struct CallWithStates {
    static_assert(task::StateArguments<A...>::fits,
                  "a background task takes states alone: `S&`, or `const S&` for a shared one");

    static void list([[maybe_unused]] std::vector<Need>& needs) {
        (needs.push_back(state_need<std::remove_reference_t<A>>()), ...);
    }
    template <typename F>
    static std::optional<task::Task<>> call(const F& function, const States& states) {
        const auto found = task::StateArguments<A...>::find(states);
        if (!found) return std::nullopt;
        return std::apply(function, *found);
    }
};

template <typename F>
Background background(F task, BackgroundOptions options) {
    using Arguments = typename SignatureOf<F>::template Arguments<CallWithStates>;
    Background made{
        [task = std::move(task)](const States& states) { return Arguments::call(task, states); },
        options};
    Arguments::list(made.needs);
    return made;
}

class BackgroundTasks final : private core::TurnEnd {
  public:
    // They start when the loop has begun to turn.
    BackgroundTasks(task::Runner& runner, const States& states, const std::vector<Background>& all,
                    bool first_loop);
    ~BackgroundTasks();
    BackgroundTasks(const BackgroundTasks&) = delete;
    BackgroundTasks& operator=(const BackgroundTasks&) = delete;

    // `done` is called when all are over, at `deadline` at the latest.
    void drain(Instant deadline, unique_function<void()> done);

  private:
    class One;

    void on_turn_end() override;
    void one_is_over();

    task::Runner* runner_;
    const States* states_;
    std::vector<std::unique_ptr<One>> all_;
    unique_function<void()> drained_;
};

}  // namespace app_parts
}  // namespace tiderace::http
