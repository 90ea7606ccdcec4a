// LoadProgress: how far a run is, for an observer.
//
// Thread   Plain values. A ShownProgress is written by one thread or process and read by any.
#pragma once

#include <atomic>
#include <cstdint>

namespace tiderace::load {

struct LoadProgress {
    std::uint64_t answers = 0;  // right ones
    std::uint64_t errors = 0;
    std::uint64_t wrong_answers = 0;  // of the errors
    std::uint64_t received_bytes = 0;
    std::uint64_t opened = 0;  // connections, in all
    std::uint64_t connect_errors = 0;
    std::int64_t open = 0;  // connections, now
    bool asking = false;    // the measured time has begun: no more connections are gathered
    bool done = false;

    // Sums several workers: asking, and done, when all are.
    void add(const LoadProgress& other) {
        answers += other.answers;
        errors += other.errors;
        wrong_answers += other.wrong_answers;
        received_bytes += other.received_bytes;
        opened += other.opened;
        connect_errors += other.connect_errors;
        open += other.open;
        asking = asking && other.asking;
        done = done && other.done;
    }
};

// The progress of a run where others see it: another thread, or, in memory that is shared, another
// process. Each figure is whole; together they are of about the same moment.
class ShownProgress {
  public:
    // All but done.
    void show(const LoadProgress& now) {
        answers_.store(now.answers, std::memory_order_relaxed);
        errors_.store(now.errors, std::memory_order_relaxed);
        wrong_answers_.store(now.wrong_answers, std::memory_order_relaxed);
        received_bytes_.store(now.received_bytes, std::memory_order_relaxed);
        opened_.store(now.opened, std::memory_order_relaxed);
        connect_errors_.store(now.connect_errors, std::memory_order_relaxed);
        open_.store(now.open, std::memory_order_relaxed);
        asking_.store(now.asking, std::memory_order_relaxed);
    }
    // A reader that sees `done` also sees everything written before it.
    void finish() { done_.store(true, std::memory_order_release); }

    LoadProgress read() const {
        const bool done = done_.load(std::memory_order_acquire);
        return {.answers = answers_.load(std::memory_order_relaxed),
                .errors = errors_.load(std::memory_order_relaxed),
                .wrong_answers = wrong_answers_.load(std::memory_order_relaxed),
                .received_bytes = received_bytes_.load(std::memory_order_relaxed),
                .opened = opened_.load(std::memory_order_relaxed),
                .connect_errors = connect_errors_.load(std::memory_order_relaxed),
                .open = open_.load(std::memory_order_relaxed),
                .asking = asking_.load(std::memory_order_relaxed),
                .done = done};
    }

  private:
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "between processes, too");

    std::atomic<std::uint64_t> answers_ = 0;
    std::atomic<std::uint64_t> errors_ = 0;
    std::atomic<std::uint64_t> wrong_answers_ = 0;
    std::atomic<std::uint64_t> received_bytes_ = 0;
    std::atomic<std::uint64_t> opened_ = 0;
    std::atomic<std::uint64_t> connect_errors_ = 0;
    std::atomic<std::int64_t> open_ = 0;
    std::atomic<bool> asking_ = false;
    std::atomic<bool> done_ = false;
};

}  // namespace tiderace::load
