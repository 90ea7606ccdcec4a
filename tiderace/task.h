// Tasks: coroutines on an event loop.
//
//     #include <tiderace/task.h>
//
//     using namespace std::chrono_literals;
//
//     tiderace::Task<int> slow_answer() {
//         co_await tiderace::sleep(10ms);
//         co_return 42;
//     }
//
//     tiderace::Task<int> ask() {
//         auto answer = co_await tiderace::within(1s, slow_answer());  // cancels it when late
//         co_return answer ? *answer : -1;
//     }
//
//     int main() {
//         return tiderace::run(ask()) == 42 ? 0 : 1;
//     }
//
// A task runs when it is awaited, on the loop of the one that awaits it, and inherits its deadline.
// Destroying it cancels it: the frame ends at its await, and the awaited operation is withdrawn.
// `co_await detached(task)` runs a task to its end all the same.
//
// Each header below says more: owner, thread, errors, limits. For programs without tasks, and not
// included here (docs/rooms.md):
//   core/event_loop.h  core/watch.h  core/blocking_jobs.h      timers, descriptors, threads
//   log/logger.h  log/writer.h  log/console_sink.h             a log
//   base/result.h  base/units.h                                Result; Duration, 64_KiB
#pragma once

#include "tiderace/task/channel.h"
#include "tiderace/task/detached.h"
#include "tiderace/task/generator.h"
#include "tiderace/task/offload.h"
#include "tiderace/task/run.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/scope.h"
#include "tiderace/task/semaphore.h"
#include "tiderace/task/sleep.h"
#include "tiderace/task/task.h"
#include "tiderace/task/when.h"
#include "tiderace/task/within.h"

namespace tiderace {

using task::Channel;
using task::deadline;
using task::detached;
using task::Generator;
using task::Mutex;
using task::offload;
using task::run;
using task::Scope;
using task::Semaphore;
using task::sleep;
using task::sleep_until;
using task::Task;
using task::TimedOut;
using task::when_all;
using task::when_any;
using task::within;
using task::yield;

}  // namespace tiderace
