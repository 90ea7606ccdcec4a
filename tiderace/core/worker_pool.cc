#include "tiderace/core/worker_pool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/base/signals_blocked.h"
#include "tiderace/base/thread_name.h"
#include "tiderace/base/thread_refusal.h"
#include "tiderace/core/contain.h"

namespace tiderace::core {

//   submit() -> queue_ -> an idle thread, or a new one while there are few -> the task, destroyed
//      `- refused: stopping, full, or no thread at all could be started
class WorkerPool::Crew {
  public:
    Crew(std::size_t threads_max, std::size_t queue_max)
        : threads_max_(threads_max), queue_max_(queue_max) {
        TR_CHECK(threads_max_ > 0 && queue_max_ > 0,
                 "a worker pool needs a thread and a place to wait");
    }
    ~Crew();

    bool submit(Task task);
    Counters counters() const;

  private:
    bool start_thread();
    bool enqueue(Task& task);
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

WorkerPool::Crew::~Crew() {
    std::deque<Task> dropped;
    // Only tasks that run are waited for: those in the queue may take arbitrarily long.
    {
        const std::lock_guard held(lock_);
        stopping_ = true;
        dropped.swap(queue_);
    }
    work_or_stop_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    // Last, and without the lock: a task's destructor may call submit(), which refuses now.
    dropped.clear();
}

bool WorkerPool::Crew::submit(Task task) {
    TR_CHECK(task, "submit of an empty task");
    {
        const std::lock_guard held(lock_);
        // Each queued task has an idle thread about to take it, or all threads are busy.
        const std::size_t idle = threads_.size() - counters_.running;
        const bool short_of_threads = idle <= queue_.size() && threads_.size() < threads_max_;
        // Without a new thread the task waits for an old one; without any it would wait for ever.
        if (stopping_ || queue_.size() >= queue_max_ ||
            (short_of_threads && !start_thread() && threads_.empty()) || !enqueue(task)) {
            ++counters_.refused;
            return false;
        }
        ++counters_.submitted;
    }
    // Without the lock, so that the thread that wakes finds it free.
    work_or_stop_.notify_one();
    return true;
}

WorkerPool::Counters WorkerPool::Crew::counters() const {
    const std::lock_guard held(lock_);
    Counters now = counters_;
    now.queued = queue_.size();
    now.threads = threads_.size();
    return now;
}

// False if the machine allows no further thread; the existing ones continue.
bool WorkerPool::Crew::start_thread() {
    const SignalsBlocked blocked;
    return thread_refusal([this] {
               threads_.emplace_back([this, number = threads_.size()] {
                   name_this_thread("tr-worker-" + std::to_string(number));
                   work();
               });
           }) == 0;
}

// Without memory the task stays with the caller, which destroys it when the lock is released: its
// destructor may call submit().
bool WorkerPool::Crew::enqueue(Task& task) {
    try {
        queue_.push_back(std::move(task));
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void WorkerPool::Crew::work() {
    std::unique_lock held(lock_);
    for (;;) {
        work_or_stop_.wait(held, [this] { return stopping_ || !queue_.empty(); });
        // Queued tasks are not run any more; the destructor drops them.
        if (stopping_) return;
        Task task = std::move(queue_.front());
        queue_.pop_front();
        ++counters_.running;
        held.unlock();
        // The last resort: its submitter should catch what it throws, and knows what to do.
        const bool threw = !contain(nullptr, "core", "a task of a pool", task);
        task = nullptr;  // destroyed here, without the lock
        held.lock();
        if (threw) ++counters_.threw;
        --counters_.running;
        ++counters_.completed;
    }
}

WorkerPool::WorkerPool(std::size_t threads_max, std::size_t queue_max)
    : crew_(std::make_unique<Crew>(threads_max, queue_max)) {}

WorkerPool::~WorkerPool() = default;

bool WorkerPool::submit(Task task) {
    return crew_->submit(std::move(task));
}

WorkerPool::Counters WorkerPool::counters() const {
    return crew_->counters();
}

}  // namespace tiderace::core
