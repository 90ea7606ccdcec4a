// when_all, when_any: several tasks at once, on one loop.
//
//   auto [user, posts] = co_await when_all(find_user(id), find_posts(id));
//   auto first = co_await when_any(fetch(a), fetch(b));      // std::variant; index() says which
//   std::vector<int> sizes = co_await when_all(std::move(tasks));
//
// Each starts in order and runs until it first waits. The value of a Task<> is std::monostate.
//
// Thread   The loop's.
// Errors   The first exception cancels the others and is thrown on.
// Memory   The tasks' frames; nothing else.
// Keywords: select, race, join
#pragma once

#include <coroutine>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "tiderace/task/awaitable.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/transfer.h"

namespace tiderace::task {

template <typename T>
using value_or_monostate = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <typename T>
value_or_monostate<T> take_value(Task<T>& task) {
    if constexpr (std::is_void_v<T>) {
        task.handle().promise().take_value();
        return {};
    } else {
        return task.handle().promise().take_value();
    }
}

// Starts tasks one after the other and resumes the awaiting coroutine when enough have ended.
class Join : private Joiner {
  protected:
    ~Join() = default;

    void begin(std::coroutine_handle<> awaiting, std::size_t wanted) {
        awaiting_ = awaiting;
        context_ = &Context::here();
        left_ = wanted;
    }
    // False: enough have ended, the others need not start.
    template <typename T>
    bool start(Task<T>& task) {
        task.handle().promise().set_joiner(*this);
        resume(task.handle());
        Context::current() = context_;  // it may wait under a deadline of its own
        return !finished();
    }
    // All were started: true if the awaiting coroutine has to wait.
    bool wait() {
        starting_ = false;
        return !finished();
    }
    bool finished() const { return left_ == 0 || failure_; }
    void rethrow_failure() const {
        Context::current() = context_;
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    // While tasks are still being started, the awaiting coroutine stands on this stack: wait() then
    // returns false. Later it goes on from here, as if the last task had returned to it.
    std::coroutine_handle<> on_child_done(PromiseBase& child) noexcept override {
        if (finished()) return std::noop_coroutine();
        --left_;
        failure_ = child.failure();
        return finished() && !starting_ ? transfer(awaiting_) : std::noop_coroutine();
    }

    std::coroutine_handle<> awaiting_;
    Context* context_ = nullptr;
    std::exception_ptr failure_;
    std::size_t left_ = 0;
    bool starting_ = true;
};

template <typename... T>
class [[nodiscard("co_await it")]] WhenAll final : private Join {
  public:
    explicit WhenAll(Task<T>... tasks) : tasks_(std::move(tasks)...) {}

    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> awaiting) {
        begin(awaiting, sizeof...(T));
        std::apply([this](auto&... task) { (void)(this->start(task) && ...); }, tasks_);
        return wait();
    }
    std::tuple<value_or_monostate<T>...> await_resume() {
        std::tuple<Task<T>...> tasks = std::move(tasks_);  // ends the frames before we throw
        rethrow_failure();
        return std::apply(
            [](auto&... task) { return std::tuple<value_or_monostate<T>...>{take_value(task)...}; },
            tasks);
    }

  private:
    std::tuple<Task<T>...> tasks_;
};

template <typename T>
class [[nodiscard("co_await it")]] WhenAllOf final : private Join {
  public:
    explicit WhenAllOf(std::vector<Task<T>> tasks) : tasks_(std::move(tasks)) {}

    bool await_ready() const noexcept { return tasks_.empty(); }
    bool await_suspend(std::coroutine_handle<> awaiting) {
        begin(awaiting, tasks_.size());
        for (Task<T>& task : tasks_) {
            if (!start(task)) break;
        }
        return wait();
    }
    auto await_resume() {
        std::vector<Task<T>> tasks = std::move(tasks_);
        if (!tasks.empty()) rethrow_failure();
        if constexpr (!std::is_void_v<T>) {
            std::vector<T> values;
            values.reserve(tasks.size());
            for (Task<T>& task : tasks) values.push_back(take_value(task));
            return values;
        }
    }

  private:
    std::vector<Task<T>> tasks_;
};

template <typename... T>
class [[nodiscard("co_await it")]] WhenAny final : private Join {
  public:
    explicit WhenAny(Task<T>... tasks) : tasks_(std::move(tasks)...) {}

    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> awaiting) {
        begin(awaiting, 1);
        std::apply([this](auto&... task) { (void)(this->start(task) && ...); }, tasks_);
        return wait();
    }
    // The others end with `tasks`: a value that one of them has already is dropped.
    std::variant<value_or_monostate<T>...> await_resume() {
        std::tuple<Task<T>...> tasks = std::move(tasks_);
        rethrow_failure();
        return first_done(tasks, std::index_sequence_for<T...>{});
    }

  private:
    using Value = std::variant<value_or_monostate<T>...>;

    template <std::size_t... i>
    static Value first_done(std::tuple<Task<T>...>& tasks, std::index_sequence<i...>) {
        std::optional<Value> value;
        (void)((std::get<i>(tasks).done()
                    ? (value.emplace(std::in_place_index<i>, take_value(std::get<i>(tasks))), true)
                    : false) ||
               ...);
        return std::move(*value);
    }

    std::tuple<Task<T>...> tasks_;
};

template <typename... A>
    requires(sizeof...(A) > 0)
auto when_all(A... awaitables) {
    return [](auto... tasks) {
        return WhenAll<typename decltype(tasks)::value_type...>(std::move(tasks)...);
    }(as_task(std::move(awaitables))...);
}
template <typename T>
WhenAllOf<T> when_all(std::vector<Task<T>> tasks) {
    return WhenAllOf<T>(std::move(tasks));
}
template <typename... A>
    requires(sizeof...(A) > 0)
auto when_any(A... awaitables) {
    return [](auto... tasks) {
        return WhenAny<typename decltype(tasks)::value_type...>(std::move(tasks)...);
    }(as_task(std::move(awaitables))...);
}

}  // namespace tiderace::task
