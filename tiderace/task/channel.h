// Channel<T>: values from task to task on one loop, through a bounded queue.
//
//   Channel<Job> jobs(16);
//   co_await jobs.send(job);                        // waits while it is full; false: closed
//   while (auto job = co_await jobs.receive()) …    // nullopt: closed and empty
//
// Owner    Its creator; it outlives the tasks that use it.
// Thread   The loop's. From another thread: EventLoop::post, then try_send.
// Errors   None. A value given to a receiver that is cancelled before it runs goes to the next one.
// Limits   capacity values, and one in each waiting sender.
// Keywords: queue
#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "tiderace/task/runner.h"

namespace tiderace::task {

template <typename T>
class Channel final {
  public:
    explicit Channel(std::size_t capacity) : capacity_(capacity) {
        TR_CHECK(capacity > 0, "a channel holds at least one value");
    }
    ~Channel() {
        TR_CHECK(senders_.empty() && receivers_.empty(), "a channel ended while tasks wait for it");
    }
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    class [[nodiscard("co_await it")]] Send;
    class [[nodiscard("co_await it")]] Receive;

    Send send(T value) { return Send(*this, std::move(value)); }
    Receive receive() { return Receive(*this); }
    // False: full or closed, and `value` is as it was.
    bool try_send(T& value);
    bool try_send(T&& value) { return try_send(value); }
    std::optional<T> try_receive();
    // Senders get false; receivers get what is there, then nullopt.
    void close();

    bool closed() const { return closed_; }
    std::size_t size() const { return values_.size(); }
    bool full() const { return values_.size() >= capacity_; }

  private:
    void refill();

    const std::size_t capacity_;
    std::deque<T> values_;
    IntrusiveList<Send> senders_;
    IntrusiveList<Receive> receivers_;
    bool closed_ = false;
};

template <typename T>
class Channel<T>::Send final : private Waiter {
  public:
    Send(Channel& channel, T value) : channel_(&channel), value_(std::move(value)) {}

    bool await_ready() {
        if (channel_->closed()) return true;
        if (!Context::here().runner->spend()) return false;
        sent_ = channel_->try_send(value_);
        return sent_;
    }
    void await_suspend(std::coroutine_handle<> handle) {
        Waiter::suspend(handle);
        sent_ = channel_->try_send(value_);  // there was room, but it was this task's turn to wait
        if (sent_) return Waiter::wake();
        channel_->senders_.push_back(*this);
    }
    bool await_resume() const noexcept { return sent_; }

  private:
    friend class Channel;
    template <typename U>
    friend class tiderace::IntrusiveList;

    Channel* channel_;
    T value_;
    bool sent_ = false;
};

template <typename T>
class Channel<T>::Receive final : private Waiter {
  public:
    explicit Receive(Channel& channel) : channel_(&channel) {}
    Receive(Receive&&) = default;
    ~Receive() {
        // Cancelled between the hand-over and its resumption: the value is the next one's.
        if (!value_) return;
        channel_->values_.push_front(std::move(*value_));
        channel_->refill();
    }

    bool await_ready() {
        if (!Context::here().runner->spend()) return false;
        value_ = channel_->try_receive();
        return value_ || channel_->closed();
    }
    void await_suspend(std::coroutine_handle<> handle) {
        Waiter::suspend(handle);
        value_ = channel_->try_receive();
        if (value_ || channel_->closed()) return Waiter::wake();
        channel_->receivers_.push_back(*this);
    }
    std::optional<T> await_resume() { return std::exchange(value_, std::nullopt); }

  private:
    friend class Channel;
    template <typename U>
    friend class tiderace::IntrusiveList;

    Channel* channel_;
    std::optional<T> value_;
};

template <typename T>
bool Channel<T>::try_send(T& value) {
    if (closed_) return false;
    if (!receivers_.empty()) {
        Receive& first = receivers_.front();
        first.value_.emplace(std::move(value));
        first.wake();
        return true;
    }
    if (full()) return false;
    values_.push_back(std::move(value));
    return true;
}

template <typename T>
std::optional<T> Channel<T>::try_receive() {
    if (values_.empty()) return std::nullopt;
    std::optional<T> first(std::move(values_.front()));
    values_.pop_front();
    refill();
    return first;
}

// Values go to waiting receivers first; then waiting senders fill the free places.
template <typename T>
void Channel<T>::refill() {
    while (!values_.empty() && !receivers_.empty()) {
        Receive& first = receivers_.front();
        first.value_.emplace(std::move(values_.front()));
        values_.pop_front();
        first.wake();
    }
    while (!full() && !senders_.empty()) {
        Send& first = senders_.front();
        values_.push_back(std::move(first.value_));
        first.sent_ = true;
        first.wake();
    }
}

template <typename T>
void Channel<T>::close() {
    closed_ = true;
    while (!senders_.empty()) senders_.front().wake();
    while (!receivers_.empty()) receivers_.front().wake();
}

}  // namespace tiderace::task
