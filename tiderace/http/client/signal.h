// Internal. Signal: tasks of one loop wait until something has changed, and look again.
//
//   while (!ready()) co_await changed.wait();
//   while (!ready()) {
//       if (!co_await changed.wait_until(due) && !ready()) break;    // too late
//   }
//
// Owner    What changes. It may end before its waiters, which then wait for ever: end them first.
// Thread   The loop's.
#pragma once

#include <coroutine>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/core/deadline.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

class Signal final {
  public:
    class [[nodiscard("co_await it")]] Wait : protected task::Waiter {
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

    // False: `due` has come before a change.
    class [[nodiscard("co_await it")]] TimedWait final : private Wait, private core::Deadline {
      public:
        TimedWait(Signal& signal, Instant due) : Wait(signal), due_(due) {}

        using Wait::await_ready;
        void await_suspend(std::coroutine_handle<> handle) {
            Wait::await_suspend(handle);
            core::EventLoop& loop = context()->runner->loop();
            loop.assert_on_loop();
            if (due_ != Instant::max()) arm(loop, due_);
        }
        bool await_resume() {
            context()->runner->loop().assert_on_loop();
            disarm();
            return !passed_;
        }

      private:
        void on_passed() override {
            passed_ = true;
            Waiter::wake();
        }

        Instant due_;
        bool passed_ = false;
    };

    Wait wait() { return Wait(*this); }
    TimedWait wait_until(Instant due) { return TimedWait(*this, due); }
    void wake_all() {
        while (!waiting_.empty()) waiting_.front().wake();  // which moves it to the ready ones
    }

  private:
    IntrusiveList<Wait> waiting_;
};

}  // namespace tiderace::http
