// Signal: tasks of one loop wait until something has changed, and look again.
//
//   while (!ready()) co_await changed.wait();
//
// Owner    What changes. It may end before its waiters, which then wait for ever: end them first.
// Thread   The loop's.
#pragma once

#include <coroutine>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

class Signal final {
  public:
    class [[nodiscard("co_await it")]] Wait : private task::Waiter {
      public:
        explicit Wait(Signal& signal) : signal_(&signal) {}

        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> handle) {
            Waiter::suspend(handle);
            signal_->waiting_.push_back(*this);
        }
        void await_resume() const noexcept {}

      private:
        friend class Signal;
        template <typename T>
        friend class tiderace::IntrusiveList;

        Signal* signal_;
    };

    Wait wait() { return Wait(*this); }
    void wake_all() {
        while (!waiting_.empty()) waiting_.front().wake();  // which moves it to the ready ones
    }

  private:
    IntrusiveList<Wait> waiting_;
};

}  // namespace tiderace::http
