// EventLoop: one thread's turn-taking between the kernel, timers, the mailbox and deferred work.
//
//   turn:  wait -> mailbox -> the kernel's events -> due timers -> end of turn (closing, flushing)
//
// A deadline expires only after all input that had arrived by then was dispatched, also after the
// process was stopped: a loop that is late looks at the kernel again before its timers, and does
// what input deferred to the turn's end; while a wait() may have left some out, timers wait, up to
// timers_late_max.
//
// Owner    Its creator; it must outlive everything attached to it.
// Thread   The one that calls run() or turn(). Other threads call post() and request_stop() only;
//          any other call aborts in every build.
// Errors   create() fails when the machine refuses (an engine that is not there).
// Limits   mailbox_posts_max waiting posts; BackendOptions for what one turn accepts and receives.
// Memory   One receive buffer, the block pool's free list; nothing per turn.
// Keywords: loop, turn, reactor
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/thread_role.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/base/units.h"
#include "tiderace/core/backend.h"
#include "tiderace/core/budget.h"
#include "tiderace/core/clock.h"
#include "tiderace/core/mailbox.h"
#include "tiderace/core/send_queue.h"
#include "tiderace/core/timer_wheel.h"
#include "tiderace/log/logger.h"

namespace tiderace::core {

class WakeupList;

// Work that runs once at the end of the present turn, when no callback is on the stack. It must
// outlive the request.
class TurnEnd {
  public:
    virtual void on_turn_end() TR_ON_LOOP = 0;

  protected:
    virtual ~TurnEnd() = default;

  private:
    friend class EventLoop;

    TurnEnd* next_ = nullptr;  // not null: queued; the last one points at itself
};

// Makes a backend that core does not know, such as the lab's.
using BackendFactory = Result<std::unique_ptr<Backend>> (*)(const BackendOptions& options);

struct LoopOptions {
    std::string_view engine = "auto";
    BackendFactory make_backend = nullptr;  // instead of `engine`, if set
    BackendOptions backend;
    const Clock* clock = nullptr;            // nullptr: the system's
    std::size_t mailbox_posts_max = 65'536;  // post() is refused above
    // Bytes that peers have not taken yet, of all connections (budget.h).
    std::size_t send_bytes_max = 64_MiB;
};

class EventLoop {
  public:
    // The limit under a load that leaves events in every turn.
    static constexpr Duration timers_late_max = 1s;
    // From here on a timer is late: an idle loop wakes within a few milliseconds of its tick.
    static constexpr Duration late_min = 10ms;

    static Result<std::unique_ptr<EventLoop>> create(const LoopOptions& options);
    // For a custom backend, such as the tests' fake.
    EventLoop(std::unique_ptr<Backend> backend, const LoopOptions& options);
    ~EventLoop();

    // Turns until stop(). The calling thread becomes the loop's for that time.
    void run();
    // One turn that waits at most `wait_max` (negative: until something happens).
    void turn(Duration wait_max);
    // Ends run() at the end of the present turn.
    void stop() TR_ON_LOOP;
    // Ends run() at the end of a later turn, after everything posted before. Any thread. Unlike a
    // post of stop() it is never refused.
    void request_stop();

    // For a caller that turns the loop inside another library's loop: how long run() would wait now
    // (negative: until something happens), and whether it would end.
    Duration wait_wanted() const { return wait_for(Duration(-1)); }
    bool stopping() const { return stopping_; }

    // Runs `task` on the loop's thread in a later turn. Any thread. False: full, or the loop is
    // gone.
    bool post(unique_function<void()> task) { return mailbox_.post(std::move(task)); }

    // The list that its wake-ups share (wakeup.h).
    const std::shared_ptr<WakeupList>& wakeups() const { return wakeups_; }

    Backend& backend() { return *backend_; }
    Kernel& kernel() { return *options_.backend.kernel; }
    BlockPool& blocks() { return blocks_; }
    SendEviction& send_eviction() { return send_eviction_; }
    const Clock& clock() const { return *clock_; }

    // The time at the start of this turn's callbacks: equal for all of them, and read once.
    Instant now() const { return now_; }
    UnixSeconds unix_now() const { return unix_now_; }

    void arm(Timer& timer, Instant when) TR_ON_LOOP { timers_.arm(timer, when); }
    void cancel(Timer& timer) TR_ON_LOOP { timers_.cancel(timer); }
    // Runs once; a second request for the same object before it ran changes nothing.
    void at_turn_end(TurnEnd& work) TR_ON_LOOP {
        if (work.next_ != nullptr) return;
        work.next_ = turn_ends_ != nullptr ? turn_ends_ : &work;
        turn_ends_ = &work;
    }
    // Withdraws it, for an object that ends before its turn end; other work of the same turn's end
    // may do so.
    void forget_turn_end(TurnEnd& work);
    // Called at the end of each turn, after everything else, and after the work of earlier calls of
    // this function. For output that is gathered during a turn (a log ring). It stays for good, so
    // what it uses must outlive the loop's last turn. Not from inside such work.
    void every_turn_end(unique_function<void()> work) {
        every_turn_end_.push_back(std::move(work));
    }

    // This loop's own logger, or nullptr: no log. It outlives the loop's last turn.
    void set_log(log::Logger* logger) { log_ = logger; }
    log::Logger* log() const { return log_; }

    bool on_loop_thread() const { return role_.held_here(); }
    // Aborts on any thread but the one that is turning. Before the first turn and after the last,
    // any one thread may set up and tear down.
    void assert_on_loop() const TR_ASKS_FOR_LOOP {
        if (turning_.load(std::memory_order_relaxed)) role_.assert_here();
    }
    const ThreadRole& role() const { return role_; }
    // Answers of other programs (a database's, say) that tasks of this loop wait for. They come in
    // real time, so a caller that moves the clock by hand lets them come first.
    std::size_t answers_awaited() const { return answers_awaited_; }
    void begin_answer() TR_ON_LOOP { ++answers_awaited_; }
    void end_answer() TR_ON_LOOP { --answers_awaited_; }
    // Turns so far; for tests and counters.
    std::uint64_t turns() const { return turns_; }

  private:
    class Turning;

    void read_clock();
    void one_turn(Duration wait_max) TR_ON_LOOP;
    Duration wait_for(Duration wait_max) const;
    void run_arrived() TR_ON_LOOP;
    bool is_late() const;
    void expire_timers() TR_ON_LOOP;
    void run_turn_ends() TR_ON_LOOP;
    static TurnEnd* behind(const TurnEnd& work);
    static bool unlink(TurnEnd*& first, TurnEnd& work);
    void evict() TR_ON_LOOP;

    LoopOptions options_;
    SystemClock system_clock_;
    const Clock* clock_;
    BlockPool blocks_;
    SendEviction send_eviction_;
    std::unique_ptr<Backend> backend_;
    Mailbox mailbox_;
    std::shared_ptr<WakeupList> wakeups_;
    TimerWheel timers_;
    TurnEnd* turn_ends_ = nullptr;      // the last request comes first
    TurnEnd* turn_ends_due_ = nullptr;  // of the end that runs now
    std::vector<unique_function<void()>> every_turn_end_;
    log::Logger* log_ = nullptr;
    ThreadRole role_;
    Instant now_{};
    Instant next_second_{};  // when unix_now_ is next read
    Instant timers_wait_since_ = Instant::max();
    Instant eviction_due_{};
    Instant eviction_logged_until_{};
    UnixSeconds unix_now_ = 0;
    std::uint64_t turns_ = 0;
    std::size_t answers_awaited_ = 0;
    std::atomic<bool> turning_ = false;
    std::atomic<bool> stop_requested_ = false;
    bool stopping_ = false;
};

}  // namespace tiderace::core
