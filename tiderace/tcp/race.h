// Race: connecting to several addresses of one host at a time; the first that opens wins (RFC 8305
// section 5).
//
//   Race race(addresses, 250ms, until);
//   auto won = co_await race;
//
// Owner    The task's frame. Its end closes what is still being opened.
// Thread   The loop's.
// Errors   The fault of the first address that gave one worth reporting, or ETIMEDOUT.
// Memory   About 100 bytes and a socket for each address that was tried.
// Keywords: Happy Eyeballs, IPv6 fallback
#pragma once

#include <coroutine>
#include <memory>
#include <vector>

#include "tiderace/core/address.h"
#include "tiderace/core/timer_wheel.h"
#include "tiderace/net/tcp_transport.h"
#include "tiderace/task/runner.h"

namespace tiderace::tcp {

// The order in which a host's addresses are tried: families in turn, beginning with the first
// one's, else as they came (RFC 8305 section 4).
std::vector<core::Address> interleave(const std::vector<core::Address>& addresses);

class Race final : private core::Timer {
  public:
    struct Outcome {
        std::unique_ptr<net::Transport> transport;  // nullptr: none opened
        core::Address address;                      // of the transport, or of the fault
        int error = 0;                              // an errno value
    };

    // `addresses` is not empty.
    Race(std::vector<core::Address> addresses, Duration stagger, Instant until);
    ~Race() override;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle);
    Outcome await_resume();

  private:
    class Attempt;

    void on_expired() override;
    void start_next();
    bool start(Attempt& attempt);
    void ended(Attempt& attempt, int error);
    void note_fault(const core::Address& address, int error);
    void finish_if_lost();
    core::EventLoop& loop() const { return waiter_.context()->runner->loop(); }

    std::vector<core::Address> addresses_;
    Duration stagger_;
    Instant until_;
    std::vector<std::unique_ptr<Attempt>> attempts_;
    Attempt* won_ = nullptr;
    std::size_t open_ = 0;  // attempts that have not ended
    Outcome fault_;
    task::Waiter waiter_;
};

}  // namespace tiderace::tcp
