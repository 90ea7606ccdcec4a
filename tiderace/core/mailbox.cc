#include "tiderace/core/mailbox.h"

#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/core/contain.h"

namespace tiderace::core {
namespace {

// Room for this many tasks is kept between drains; more is given back.
constexpr std::size_t kept_tasks_max = 256;

}  // namespace

Mailbox::Mailbox(std::size_t tasks_max, unique_function<void()> wake)
    : tasks_max_(tasks_max), wake_(std::move(wake)) {
    TR_CHECK(wake_, "a mailbox needs a way to wake its owner");
    TR_CHECK(tasks_max_ > 0);
}

Mailbox::~Mailbox() {
    TR_CHECK(!draining_, "a mailbox ended inside one of its tasks");
    close();
    // Without the lock: a dying task may own something that posts, which finds a closed mailbox.
    std::vector<Task> undrained;
    {
        const std::lock_guard held(lock_);
        undrained.swap(queue_);
    }
}

bool Mailbox::post(Task task) {
    TR_CHECK(task, "post of an empty task");
    const std::lock_guard held(lock_);
    if (closed_) {
        refused_closed_.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    if (queue_.size() >= tasks_max_) {
        refused_full_.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    queue_.push_back(std::move(task));
    if (queue_.size() == 1) {
        waiting_.store(true, std::memory_order_release);
        wake_();
    }
    return true;
}

std::size_t Mailbox::drain(log::Logger* log) {
    TR_CHECK(!draining_, "drain() inside a task");
    if (empty()) return 0;
    {
        const std::lock_guard held(lock_);
        running_.swap(queue_);
        waiting_.store(false, std::memory_order_release);
    }
    draining_ = true;
    for (Task& waiting : running_) {
        Task task = std::move(waiting);  // dies as soon as it has run, with what it holds
        contain(log, "core", "a posted task", task);
    }
    draining_ = false;
    const std::size_t ran = running_.size();
    running_.clear();
    if (running_.capacity() > kept_tasks_max) std::vector<Task>().swap(running_);
    return ran;
}

void Mailbox::close() {
    const std::lock_guard held(lock_);
    closed_ = true;
}

}  // namespace tiderace::core
