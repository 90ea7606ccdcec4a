// run: a program that is one task, on a loop of its own.
//
//   int main() { return tiderace::run(copy_all(source, target)); }
//
// Thread   Any that runs no loop; it becomes the loop's until run() returns. In a handler or a task
//          run() aborts: co_await the task there.
// Errors   What the task throws is thrown by run(). A loop that cannot be made: std::system_error.
#pragma once

#include <exception>
#include <optional>
#include <utility>

#include "tiderace/task/runner.h"

namespace tiderace::task {

// Runs one task to its end.
void run_to_end(Task<> task);

template <typename T>
T run(Task<T> task) {
    if constexpr (std::is_void_v<T>) {
        run_to_end(std::move(task));
    } else {
        std::optional<T> value;
        run_to_end([](Task<T> inner, std::optional<T>& out) -> Task<> {
            out.emplace(co_await std::move(inner));
        }(std::move(task), value));
        return std::move(*value);
    }
}

}  // namespace tiderace::task
