// Semaphore and Mutex: a limit for the tasks that do something at once. First come, first served.
//
//   Semaphore queries(8);
//   auto permit = co_await queries.acquire();      // given back when `permit` ends
//
//   Mutex writing;
//   auto lock = co_await writing.lock();           // held across awaits, unlike a std::mutex
//
// They order the tasks of one loop. Between loops share nothing; post instead.
//
// What a permit is for may go on without the task that acquired it: give the permit to offload().
//
// Owner    Its creator; it outlives its waiters. Permits that outlive it end without effect.
// Thread   The loop's.
// Errors   None. A cancelled waiter leaves the queue; a permit that it was granted goes on.
// Keywords: mutex, lock, concurrency limit
#pragma once

#include <coroutine>
#include <cstddef>
#include <utility>

#include "tiderace/task/runner.h"

namespace tiderace::task {

class Semaphore final {
  public:
    explicit Semaphore(std::size_t permits) : free_(permits) {}
    ~Semaphore() {
        TR_CHECK(waiting_.empty(), "a semaphore ended while tasks wait for it");
        while (!granted_.empty()) granted_.pop_front().semaphore_ = nullptr;
    }
    Semaphore(const Semaphore&) = delete;
    Semaphore& operator=(const Semaphore&) = delete;

    // Gives its permits back at its end.
    class [[nodiscard("the permit ends at once")]] Permit : private ListHook {
      public:
        Permit() = default;
        Permit(Permit&& other) noexcept : ListHook() { take(other); }
        Permit& operator=(Permit&& other) noexcept {
            if (this == &other) return *this;
            release();
            take(other);
            return *this;
        }
        ~Permit() { release(); }
        void release() {
            if (semaphore_ == nullptr) return;
            unlink();
            std::exchange(semaphore_, nullptr)->give_back(count_);
        }

      private:
        friend class Semaphore;
        template <typename T>
        friend class tiderace::IntrusiveList;

        Permit(Semaphore& semaphore, std::size_t count) : semaphore_(&semaphore), count_(count) {
            semaphore.granted_.push_back(*this);
        }
        void take(Permit& other) {
            semaphore_ = std::exchange(other.semaphore_, nullptr);
            count_ = other.count_;
            if (semaphore_ == nullptr) return;
            other.unlink();
            semaphore_->granted_.push_back(*this);
        }

        Semaphore* semaphore_ = nullptr;  // nullptr: given back, or the semaphore has ended
        std::size_t count_ = 0;
    };

    class [[nodiscard("co_await it")]] Acquire : private Waiter {
      public:
        Acquire(Semaphore& semaphore, std::size_t count) : semaphore_(&semaphore), count_(count) {}
        Acquire(Acquire&&) = default;
        ~Acquire() {
            if (granted_) semaphore_->give_back(count_);  // cancelled between grant and resumption
            if (!queued_ || &semaphore_->waiting_.front() != this) return;
            // It may have wanted more than those behind it, for whom there is enough.
            semaphore_->waiting_.pop_front();
            semaphore_->serve();
        }

        bool await_ready() {
            // Not past waiting tasks: one that wants many would never get them.
            granted_ = semaphore_->waiting_.empty() && semaphore_->free_ >= count_ &&
                       Context::here().runner->spend();
            if (granted_) semaphore_->free_ -= count_;
            return granted_;
        }
        void await_suspend(std::coroutine_handle<> handle) {
            Waiter::suspend(handle);
            semaphore_->waiting_.push_back(*this);
            queued_ = true;
            semaphore_->serve();
        }
        Permit await_resume() {
            granted_ = false;
            return {*semaphore_, count_};
        }

      private:
        friend class Semaphore;
        template <typename T>
        friend class tiderace::IntrusiveList;

        Semaphore* semaphore_;
        std::size_t count_;
        bool granted_ = false;
        bool queued_ = false;
    };

    Acquire acquire(std::size_t count = 1) { return {*this, count}; }
    std::size_t free() const { return free_; }
    // Adds permits.
    void release(std::size_t count) { give_back(count); }

  private:
    void give_back(std::size_t count) {
        free_ += count;
        serve();
    }
    void serve() {
        while (!waiting_.empty() && waiting_.front().count_ <= free_) {
            Acquire& first = waiting_.front();
            free_ -= first.count_;
            first.granted_ = true;
            first.queued_ = false;
            first.wake();
        }
    }

    std::size_t free_;
    IntrusiveList<Acquire> waiting_;
    IntrusiveList<Permit> granted_;
};

class Mutex final {
  public:
    using Lock = Semaphore::Permit;

    Semaphore::Acquire lock() { return one_.acquire(); }

  private:
    Semaphore one_{1};
};

}  // namespace tiderace::task
