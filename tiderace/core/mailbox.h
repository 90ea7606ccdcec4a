// Internal. Mailbox: the one way between threads. Any thread posts a task, the owner's thread runs
// it.
//
//   any thread: post() -> queue, under the lock     owner: drain() takes the whole queue under the
//               -> wake(), when it was empty               lock and runs it without
//
// A batch costs one wake-up: while the queue is not empty, the owner has been woken already.
//
// Owner    Its loop. It outlives every thread that may post.
// Thread   post() and the counters: any. drain() and close(): the owner's.
// Errors   A full or closed mailbox refuses, as does one that has no memory for the task. It counts
//          that, and destroys the task in the caller.
// Limits   tasks_max waiting; those taken by a running drain() do not count.
// Memory   40 bytes a waiting task; the memory of a large batch is freed after it.
// Keywords: cross-thread, post, message passing
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tiderace/base/unique_function.h"
#include "tiderace/log/logger.h"

namespace tiderace::core {

class Mailbox final {
  public:
    using Task = unique_function<void()>;

    // `wake` makes the owner call drain() soon. It is called by posting threads, one at a time,
    // with the lock held: it must be short, may not throw and may not call the mailbox. It is not
    // called any more once close() has returned.
    Mailbox(std::size_t tasks_max, unique_function<void()> wake);
    // Tasks that were never drained are destroyed unrun.
    ~Mailbox();
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    // False: refused, and the task is gone. Tasks of one thread run in the order posted. A
    // task that throws ends there; drain() logs it.
    bool post(Task task);

    // Runs the waiting tasks, in order; returns how many. Tasks that they post wait for the next
    // drain(), for which wake() is called again. Cheap when nothing waits. Not re-entrant.
    std::size_t drain(log::Logger* log = nullptr);

    // Refuses new tasks from now on. drain() still runs the waiting ones.
    void close();

    // A hint only; a post may be on its way.
    bool empty() const { return !waiting_.load(std::memory_order_acquire); }
    // Posts refused because of the bound or for lack of memory, and because of close().
    std::uint64_t refused_full() const { return refused_full_.load(std::memory_order_relaxed); }
    std::uint64_t refused_closed() const { return refused_closed_.load(std::memory_order_relaxed); }

  private:
    const std::size_t tasks_max_;
    struct Shared;  // what the lock guards

    std::unique_ptr<Shared> shared_;
    std::atomic<bool> waiting_ = false;  // written under the lock
    std::atomic<std::uint64_t> refused_full_ = 0;
    std::atomic<std::uint64_t> refused_closed_ = 0;
    std::vector<Task> running_;  // the owner's alone
    bool draining_ = false;
};

}  // namespace tiderace::core
