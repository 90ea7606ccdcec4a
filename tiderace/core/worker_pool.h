// WorkerPool: a few threads for what blocks (file metadata, getaddrinfo, password hashes), behind a
// bounded queue.
//
// A task that has something to tell its loop ends with a post to that loop's mailbox.
//
// Owner    Owns its threads. They start one by one, when work finds no idle one, and stay.
// Thread   submit() and counters(): any. The destructor: not a thread of the pool.
// Errors   A full queue refuses; the caller answers "busy". A task may not throw.
// Limits   threads_max threads, queue_max waiting tasks.
// Signals  The threads block all: signals go to those who wait for them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tiderace/base/unique_function.h"

namespace tiderace::core {

class WorkerPool final {
  public:
    using Task = unique_function<void()>;

    struct Counters {
        std::uint64_t submitted = 0;  // accepted by submit()
        std::uint64_t refused = 0;    // the queue was full, or no thread could be started
        std::uint64_t completed = 0;
        std::size_t queued = 0;   // waiting now
        std::size_t running = 0;  // being worked on now
        std::size_t threads = 0;  // started so far
    };

    // Starts no thread yet. Both at least 1.
    WorkerPool(std::size_t threads_max, std::size_t queue_max);
    // Waits for the tasks that run. Those still queued are destroyed unrun: whom they would have
    // told is stopping too.
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    // False: full, and the task is gone. Tasks start in the order submitted.
    bool submit(Task task);

    Counters counters() const;

  private:
    bool start_thread();
    void work();

    const std::size_t threads_max_;
    const std::size_t queue_max_;
    mutable std::mutex lock_;  // guards all below
    std::condition_variable work_or_stop_;
    std::deque<Task> queue_;
    std::vector<std::thread> threads_;
    Counters counters_;
    bool stopping_ = false;
};

}  // namespace tiderace::core
