// Uring: the rings and the receive buffers of one io_uring, as objects. The operations are
// in io_uring.cc.
//
// Owner    One backend.
// Thread   The one that calls enter() first, is_usable() there only; before that, and after its
//          last, only take() and the end.
// Errors   open() reports why the kernel refused.
#pragma once

#include <liburing.h>

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/base/result.h"
#include "tiderace/base/units.h"

namespace tiderace::core {

class Uring {
  public:
    static constexpr unsigned submissions = 1024;  // more are handed over in between
    static constexpr unsigned completions = 8192;  // more wait in the kernel
    static constexpr unsigned buffers = 256;
    static constexpr std::size_t buffer_bytes = 8_KiB;

    struct Completion {
        std::uint64_t tag;
        std::int32_t result;
        std::uint32_t flags;
    };

    static Result<std::unique_ptr<Uring>> open();
    ~Uring();
    Uring(const Uring&) = delete;
    Uring& operator=(const Uring&) = delete;

    // An empty submission to be filled, handed over by the next enter(). Any number: submissions
    // above the ring's room wait in memory.
    io_uring_sqe& take(std::uint64_t tag);
    // Whether one more can be taken without handing over what was.
    bool has_room() const { return waiting_.empty() && io_uring_sq_space_left(&ring_) > 0; }
    // Changes at every submission: entries of an earlier batch belong to
    // the kernel, entries of this one may not yet.
    unsigned batch() const { return batch_; }
    // Takes the submission of this batch with this tag back, unless the kernel has it already.
    bool withdraw(std::uint64_t tag);
    // Whether the kernel listens to this thread: any, until one has entered.
    bool is_usable() const { return !enabled_ || std::this_thread::get_id() == issuer_; }
    // Hands over what was taken, and waits up to `wait_max` (negative: for ever) for a completion.
    void enter(Duration wait_max);
    // Whether something has happened that only the next enter() turns into completions: a wait that
    // a signal interrupts (also SIGSTOP) leaves it behind.
    bool has_more() const;
    // Hands over what was taken, now. Before the first enter() it waits for that.
    void submit();
    // Ends all that the kernel has of ours, as far as it does so in a second, and collects it.
    void cancel_all(std::vector<Completion>& out);
    // Moves what has completed to the end of `out`.
    void collect(std::vector<Completion>& out);

    // The bytes that a receive has put into one of the buffers, and the buffer back to the kernel.
    ByteView received(const Completion& completion) const;
    void give_back(const Completion& completion);

  private:
    Uring() = default;

    void enable();
    void refill();
    void end_batch();

    io_uring ring_{};
    io_uring_buf_ring* buffer_ring_ = nullptr;
    char* buffer_memory_ = nullptr;
    unsigned batch_ = 0;
    bool enabled_ = false;
    unsigned under_way_ = 0;            // taken, and its last completion not collected
    std::deque<io_uring_sqe> waiting_;  // taken, and the ring had no room that could be made
    std::thread::id issuer_;            // once it is enabled
};

}  // namespace tiderace::core
