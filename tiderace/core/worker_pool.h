// Internal. WorkerPool: a few threads for calls that block (file metadata, getaddrinfo, password
// hashes), behind a bounded queue.
//
// A task with a result for its loop ends with a post to that loop's mailbox.
//
// Owner    Owns its threads. They start one by one, when work finds no idle one, and stay.
// Thread   submit() and counters(): any. The destructor: not a thread of the pool.
// Errors   A full queue refuses; the caller answers "busy". A task may not throw.
// Limits   threads_max threads, queue_max waiting tasks.
// Signals  Worker threads block all signals; the main thread receives them.
// Keywords: thread pool, blocking work
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tiderace/base/unique_function.h"

namespace tiderace::core {

class WorkerPool final {
  public:
    using Task = unique_function<void()>;

    struct Counters {
        std::uint64_t submitted = 0;  // accepted by submit()
        std::uint64_t refused = 0;    // the queue was full, or a thread or memory could not be had
        std::uint64_t completed = 0;
        std::uint64_t threw = 0;  // of those, tasks that ended with an exception
        std::size_t queued = 0;   // waiting now
        std::size_t running = 0;  // being worked on now
        std::size_t threads = 0;  // started so far
    };

    // For programs that choose nothing else.
    static constexpr std::size_t threads_max_default = 4;
    static constexpr std::size_t queue_max_default = 1'024;

    // Starts no thread yet. Both at least 1.
    explicit WorkerPool(std::size_t threads_max = threads_max_default,
                        std::size_t queue_max = queue_max_default);
    // Waits for running tasks. Queued ones are destroyed unrun: their loops are stopping as well.
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    // False: full, or without memory for it, and the task is gone. Tasks start in the order
    // submitted. One that throws ends there and is counted.
    bool submit(Task task);

    Counters counters() const;

  private:
    // Apart, because <thread> would cost every file of an application a tenth of a second.
    class Crew;

    std::unique_ptr<Crew> crew_;
};

}  // namespace tiderace::core
