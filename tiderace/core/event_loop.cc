#include "tiderace/core/event_loop.h"

#include <algorithm>
#include <utility>

#include "tiderace/core/contain.h"
#include "tiderace/core/wakeup.h"

namespace tiderace::core {

// While it exists, this thread is the loop's.
class EventLoop::Turning {
  public:
    explicit Turning(EventLoop& loop) : loop_(loop) {
        loop_.role_.take();
        loop_.turning_.store(true, std::memory_order_relaxed);
    }
    ~Turning() {
        loop_.turning_.store(false, std::memory_order_relaxed);
        loop_.role_.give_back();
    }
    Turning(const Turning&) = delete;
    Turning& operator=(const Turning&) = delete;

  private:
    EventLoop& loop_;
};

Result<std::unique_ptr<EventLoop>> EventLoop::create(const LoopOptions& options) {
    auto backend = options.make_backend != nullptr ? options.make_backend(options.backend)
                                                   : make_backend(options.engine, options.backend);
    if (!backend) return fail(backend.error());
    return std::make_unique<EventLoop>(std::move(*backend), options);
}

EventLoop::EventLoop(std::unique_ptr<Backend> backend, const LoopOptions& options)
    : options_(options),
      clock_(options.clock != nullptr ? options.clock : &system_clock_),
      backend_(std::move(backend)),
      mailbox_(options.mailbox_posts_max, [this] { backend_->wake(); }),
      wakeups_(std::make_shared<WakeupList>(*backend_)),
      timers_(clock_->now()) {
    blocks_.set_bytes_max(options.send_bytes_max);
    read_clock();
}

// The members end in reverse order: the mailbox before the backend that it wakes; the block pool
// after the backend, which may keep a queue of unsent bytes (Backend::close).
EventLoop::~EventLoop() {
    // From now on posts are refused: no thread may wait for a loop that will not turn again.
    mailbox_.close();
    wakeups_->close();
}

void EventLoop::read_clock() {
    now_ = clock_->now();
    if (now_ < next_second_) return;
    // The calendar clock is read once a second, so a step of it shows within that second.
    constexpr std::int64_t second_ns = 1'000'000'000;
    const std::int64_t unix_ns = clock_->unix_now_ns();
    unix_now_ = unix_ns / second_ns;
    next_second_ = now_ + Duration(second_ns - unix_ns % second_ns);
}

Duration EventLoop::wait_for(Duration wait_max) const {
    // Work is waiting for this turn's end, so only check the descriptors.
    if (turn_ends_ != nullptr || stopping_) return Duration::zero();
    const auto wake = timers_.next_wake();
    if (!wake) return wait_max;
    const Duration until = std::max(Duration::zero(), *wake - now_);
    return wait_max < Duration::zero() ? until : std::min(until, wait_max);
}

void EventLoop::one_turn(Duration wait_max) {
    ++turns_;
    backend_->wait(wait_for(wait_max));
    // One time for the whole turn: what happens in it is simultaneous for deadlines, and clock
    // reads are not free.
    read_clock();
    // Checked before the mailbox, so that posts from before the request run in this turn.
    if (stop_requested_.load(std::memory_order_relaxed) &&
        stop_requested_.exchange(false, std::memory_order_acquire)) {
        stopping_ = true;
    }
    // Bytes that have arrived count before the time-out that waits for them. Sends are batched in
    // the turn's end.
    run_arrived();
    // The process may have been stopped, or its machine, since the kernel reported: what arrived
    // before now_, and after the report, is only seen by another look. Input may be deferred to the
    // turn's end (the step of a handshake, bytes that were left unread): it has arrived as well.
    if (is_late()) {
        backend_->wait(Duration::zero());
        run_arrived();
        run_turn_ends();
    }
    expire_timers();
    run_turn_ends();
    if (blocks_.passes_limit() && now_ >= eviction_due_) evict();
    for (auto& work : every_turn_end_) contain(log_, "core", "work at the end of a turn", work);
}

// Other threads' work first, then what the kernel reported.
void EventLoop::run_arrived() {
    mailbox_.drain(log_);
    wakeups_->run(log_);
    // Each observer ends what it throws, and what it belongs to, by itself. This is for one that
    // does not: the next turn reports the events that are left of this one.
    contain(log_, "core", "an observer", [this]() TR_ON_LOOP { backend_->dispatch(); });
}

bool EventLoop::is_late() const {
    const auto wake = timers_.next_wake();
    return wake && now_ - *wake >= late_min;
}

void EventLoop::expire_timers() {
    // Ready descriptors were left for the next turn: their peers have delivered, and must not time
    // out because we are late. So has the peer whose long answer is received in pieces, one a turn.
    // A loop that is always behind still expires timers after timers_late_max.
    if (backend_->has_more() || (is_late() && backend_->left_bytes())) {
        timers_wait_since_ = std::min(timers_wait_since_, now_);
        if (now_ - timers_wait_since_ < timers_late_max) return;
    }
    timers_wait_since_ = Instant::max();
    // A timer that throws is spent; those that are due with it come in the next round.
    // A while without a body: each round ends one timer at least, and timers armed meanwhile wait
    // for the next turn, so it ends.
    while (!contain(log_, "core", "a timer", [this] { timers_.advance(now_); })) {
    }
}

void EventLoop::evict() {
    std::size_t closed = 0;
    // It lists the holders, and memory may be short just then.
    contain(log_, "core", "eviction", [&]() TR_ON_LOOP { closed = send_eviction_.evict(blocks_); });
    run_turn_ends();
    if (closed == 0) {
        eviction_due_ =
            now_ + 100ms;  // no holder can be closed now: retry later, not in every turn
        return;
    }
    // At most one line a second: under attack every turn evicts.
    if (log_ == nullptr || now_ < eviction_logged_until_) return;
    eviction_logged_until_ = now_ + 1s;
    log_->warning("core", "unsent bytes pass their limit; closed the connections that held most",
                  log::field("connections", closed),
                  log::field("limit", static_cast<std::uint64_t>(blocks_.bytes_max())));
}

void EventLoop::run_turn_ends() {
    // Work that a turn end requests runs in this turn too, but bounded: a chain that re-arms itself
    // for ever continues in the next turn, after the kernel was polled.
    for (int round = 0; round < 4 && turn_ends_ != nullptr; ++round) {
        // A member, because what runs may withdraw what has not run yet.
        turn_ends_due_ = std::exchange(turn_ends_, nullptr);
        while (turn_ends_due_ != nullptr) {
            TurnEnd* const work = turn_ends_due_;
            turn_ends_due_ = behind(*work);
            work->next_ = nullptr;
            contain(log_, "core", "work at the end of a turn",
                    [work]() TR_ON_LOOP { work->on_turn_end(); });  // may destroy itself
        }
    }
}

// The last of a list points at itself, so that next_ also marks that it is queued.
TurnEnd* EventLoop::behind(const TurnEnd& work) {
    return work.next_ == &work ? nullptr : work.next_;
}

void EventLoop::forget_turn_end(TurnEnd& work) {
    // Not queued.
    if (work.next_ == nullptr) return;
    if (!unlink(turn_ends_, work)) unlink(turn_ends_due_, work);
}

bool EventLoop::unlink(TurnEnd*& first, TurnEnd& work) {
    TurnEnd* before = nullptr;
    TurnEnd* each = first;
    while (each != nullptr && each != &work) {
        before = each;
        each = behind(*each);
    }
    if (each == nullptr) return false;
    TurnEnd* const after = behind(work);
    if (before == nullptr) {
        first = after;
    } else {
        before->next_ = after != nullptr ? after : before;
    }
    work.next_ = nullptr;
    return true;
}

void EventLoop::turn(Duration wait_max) {
    Turning turning(*this);
    assert_on_loop();
    one_turn(wait_max);
}

void EventLoop::run() {
    Turning turning(*this);
    assert_on_loop();
    while (!stopping_) one_turn(Duration(-1));
    // The loop may run again.
    stopping_ = false;
    // Nothing may stay with the kernel that would hold a descriptor open after its close.
    backend_->rest();
}

void EventLoop::stop() {
    assert_on_loop();
    stopping_ = true;
}

void EventLoop::request_stop() {
    // Release: what this thread did before is visible to the loop when it stops.
    stop_requested_.store(true, std::memory_order_release);
    backend_->wake();
}

}  // namespace tiderace::core
