#include "tiderace/core/mailbox.h"

#include <mutex>
#include <new>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/core/contain.h"

namespace tiderace::core {
namespace {

// Capacity kept between drains; the memory of a burst is freed.
constexpr std::size_t kept_tasks_max = 256;

}  // namespace

struct Mailbox::Shared {
    std::mutex lock;
    unique_function<void()> wake;
    std::vector<Task> queue;
    bool closed = false;
};

Mailbox::Mailbox(std::size_t tasks_max, unique_function<void()> wake)
    : tasks_max_(tasks_max), shared_(std::make_unique<Shared>()) {
    shared_->wake = std::move(wake);
    TR_CHECK(shared_->wake, "a mailbox needs a way to wake its owner");
    TR_CHECK(tasks_max_ > 0);
}

Mailbox::~Mailbox() {
    TR_CHECK(!draining_, "a mailbox ended inside one of its tasks");
    close();
    // Destroyed without the lock: a task may own something that posts, which finds a closed
    // mailbox.
    std::vector<Task> undrained;
    {
        const std::lock_guard held(shared_->lock);
        undrained.swap(shared_->queue);
    }
}

bool Mailbox::post(Task task) {
    TR_CHECK(task, "post of an empty task");
    const std::lock_guard held(shared_->lock);
    if (shared_->closed) {
        refused_closed_.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    // A bound, so that a loop that stands still does not eat the memory of the threads that post to
    // it.
    if (shared_->queue.size() >= tasks_max_) {
        refused_full_.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    try {
        shared_->queue.push_back(std::move(task));
    } catch (const std::bad_alloc&) {
        // A thread of a pool could do nothing about it.
        refused_full_.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    // One wake for a batch: while tasks wait, the owner has been woken already.
    if (shared_->queue.size() == 1) {
        // Before the wake-up, so that the turn that it causes does not find an empty mailbox.
        waiting_.store(true, std::memory_order_release);
        // With the lock held, so that close() returns only when no wake-up is under way: the
        // backend that is woken may end right after.
        shared_->wake();
    }
    return true;
}

std::size_t Mailbox::drain(log::Logger* log) {
    TR_CHECK(!draining_, "drain() inside a task");
    // Every turn comes here, so an empty mailbox costs a load, not a lock.
    if (empty()) return 0;
    {
        const std::lock_guard held(shared_->lock);
        // Swapped out, so that tasks run without the lock and may post again.
        running_.swap(shared_->queue);
        waiting_.store(false, std::memory_order_release);
    }
    draining_ = true;
    for (Task& waiting : running_) {
        Task task = std::move(waiting);  // destroyed as soon as it has run, with what it holds
        contain(log, "core", "a posted task", task);
    }
    draining_ = false;
    const std::size_t ran = running_.size();
    running_.clear();
    if (running_.capacity() > kept_tasks_max) std::vector<Task>().swap(running_);
    return ran;
}

void Mailbox::close() {
    const std::lock_guard held(shared_->lock);
    shared_->closed = true;
}

}  // namespace tiderace::core
