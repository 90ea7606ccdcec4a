// Internal. awaited_t: what an awaitable gives. as_task: any awaitable as a task, for what takes
// tasks alone.
#pragma once

#include <utility>

#include "tiderace/task/task.h"

namespace tiderace::task {

// The result of co_await of an A.
template <typename A>
struct Awaited;
template <typename A>
    requires requires(A&& a) { std::forward<A>(a).operator co_await(); }
struct Awaited<A> {
    using type = decltype(std::declval<A>().operator co_await().await_resume());
};
template <typename A>
    requires requires(A& a) { a.await_resume(); }
struct Awaited<A> {
    using type = decltype(std::declval<A&>().await_resume());
};
template <typename A>
using awaited_t = typename Awaited<A>::type;

// Any awaitable as a task, for what takes tasks alone.
template <typename T>
Task<T> as_task(Task<T> task) {
    return task;
}
template <typename A>
Task<awaited_t<A>> as_task(A awaitable) {
    co_return co_await std::move(awaitable);
}

}  // namespace tiderace::task
