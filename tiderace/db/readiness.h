// Readiness: a task waits until another library's descriptor is ready, or until a deadline.
//
// While a connection is made, its library may close and open sockets inside any call: look_at()
// them, and forget() before the call. Once it is made, keep() watches a duplicate of the socket,
// which stays valid when the library closes its own; nothing is registered anew for each statement.
//
// Owner    The connection; it ends before the loop does.
// Thread   The loop's. One waiter at a time.
// Errors   A descriptor that the engine cannot watch: Error{connection_lost}.
#pragma once

#include <coroutine>

#include "tiderace/core/event_loop.h"
#include "tiderace/core/timer_wheel.h"
#include "tiderace/core/watch.h"
#include "tiderace/task/runner.h"

namespace tiderace::db {

class Readiness final : private core::Watch::Receiver, private core::Timer {
  public:
    explicit Readiness(core::EventLoop& loop) : loop_(&loop), watch_(loop, *this) {}
    ~Readiness() override;
    Readiness(const Readiness&) = delete;
    Readiness& operator=(const Readiness&) = delete;

    void look_at(int fd) { fd_ = fd; }
    void keep(int fd);
    // The duplicate of a kept descriptor is closed.
    void forget();

    // Whether it was ready since the last wait, without a waiter: the other end has closed, or
    // sends something of its own accord.
    bool noticed() const { return noticed_; }

    // As if the deadline of the waiter had come.
    void expire();

    class [[nodiscard("co_await it")]] Wait {
      public:
        Wait(Readiness& readiness, core::Interest interest, Instant until, bool for_answer)
            : readiness_(&readiness), interest_(interest), until_(until), for_answer_(for_answer) {}
        ~Wait();
        Wait(const Wait&) = delete;
        Wait& operator=(const Wait&) = delete;

        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> handle);
        // False: the deadline came first.
        bool await_resume() const {
            readiness_->woken_ = false;
            return readiness_->ready_;
        }

      private:
        friend class Readiness;
        Readiness* readiness_;
        core::Interest interest_;
        Instant until_;
        bool for_answer_;
        task::Waiter waiter_;
    };
    // For an answer, or for room to send: EventLoop::answers_awaited().
    Wait wait(core::Interest interest, Instant until) { return {*this, interest, until, true}; }
    // For bytes that the other end may send unasked.
    Wait listen(Instant until) { return {*this, {.readable = true}, until, false}; }

  private:
    void on_ready(core::Watch& watch, core::Interest ready) override;
    void on_expired() override;
    void set_interest(core::Interest interest);
    Wait* end_waiting();

    core::EventLoop* loop_;
    core::Watch watch_;
    core::Interest interest_;
    int fd_ = -1;
    bool kept_ = false;  // fd_ is ours
    bool noticed_ = false;
    bool ready_ = false;
    bool woken_ = false;  // the waiter, which will go on later
    Wait* waiting_ = nullptr;
};

}  // namespace tiderace::db
