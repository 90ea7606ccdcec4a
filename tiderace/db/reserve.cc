#include "tiderace/db/reserve.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"
#include "tiderace/db/error.h"
#include "tiderace/task/sleep.h"
#include "tiderace/task/within.h"

namespace tiderace::db {

Loan& Loan::operator=(Loan&& other) noexcept {
    if (this != &other) {
        give_back();
        take_over(other);
    }
    return *this;
}

void Loan::take_over(Loan& other) noexcept {
    reserve_ = std::exchange(other.reserve_, nullptr);
    connection_ = std::move(other.connection_);
    permit_ = std::move(other.permit_);
    if (!other.linked()) return;
    other.unlink();
    reserve_->lent_.push_back(*this);
}

// The connection belongs to this loop, and its place to the reserve.
void Loan::end() noexcept {
    connection_.reset();
    permit_.release();
    reserve_ = nullptr;
}

void Loan::give_back() noexcept {
    unlink();
    Reserve* const reserve = std::exchange(reserve_, nullptr);
    if (reserve == nullptr) return;
    give_back_to(*reserve);
    reserve->show();
}

void Loan::give_back_to(Reserve& reserve) noexcept {
    // Both end here at the latest, the connection first: without it its place is free.
    task::Semaphore::Permit permit = std::move(permit_);
    std::unique_ptr<Pooled> connection = std::move(connection_);
    if (connection == nullptr || connection->broken()) return;
    if (connection->clean()) return reserve.keep(std::move(connection));
    // Without memory for the task its arguments end, and the connection with them.
    core::contain(reserve.runner_->loop().log(), "db", "the recovery of a connection", [&] {
        reserve.runner_->spawn(reserve.recover(std::move(connection), std::move(permit)));
    });
}

Reserve::Reserve(task::Runner& runner, const ReserveOptions& options, Maker maker,
                 std::shared_ptr<ReserveCounts> shown)
    : runner_(&runner),
      options_(options),
      maker_(std::move(maker)),
      permits_(options.connections_max),
      backoff_(options.reconnect_pause, options.reconnect_pause_max),
      shown_(std::move(shown)) {}

Reserve::~Reserve() {
    while (!lent_.empty()) lent_.pop_front().end();
    for (LoopCount* gauge : {&shown_->idle, &shown_->lent, &shown_->waiting}) *gauge = 0;
}

void Reserve::show() noexcept {
    const Counters now = counters();
    shown_->idle = now.idle;
    shown_->lent = now.lent;
    shown_->waiting = now.waiting;
    shown_->opened = now.opened;
    shown_->failed = now.failed;
}

Reserve::Counters Reserve::counters() const {
    return {.idle = idle_.size(),
            .lent = size() - permits_.free(),
            .waiting = waiting_,
            .opened = opened_,
            .failed = failed_};
}

//
//   permit -> idle_ (the newest first) --gone, or answers nothing: the next--> a new one -> Loan
//   Loan ends -> clean: idle_;  broken: closed;  else recover(), then one of these
//
task::Task<Loan> Reserve::take(Instant until) {
    Loan loan;
    loan.reserve_ = this;
    lent_.push_back(loan);
    // Most times both are there, and cost no tasks of their own.
    auto free_one = permits_.acquire();
    if (free_one.await_ready()) {
        loan.permit_ = free_one.await_resume();
    } else {
        loan.permit_ = co_await wait_for_permit(until);
    }
    // Now, because giving back must not fail. A connection is made only while none is idle, so
    // there are never more than were lent at one time.
    idle_.reserve(size() - permits_.free());
    show();
    const bool is_fresh = !idle_.empty() && now() - idle_.back().since < options_.check_after;
    if (is_fresh && !idle_.back().connection->gone()) {
        loan.connection_ = std::move(idle_.back().connection);
        idle_.pop_back();
    } else {
        loan.connection_ = co_await ready_one(until);
    }
    show();
    co_return loan;
}

task::Task<task::Semaphore::Permit> Reserve::wait_for_permit(Instant until) {
    if (permits_.free() > 0) co_return co_await permits_.acquire();
    if (waiting_ >= options_.waiting_max) {
        throw Error(Fault::busy, "too many tasks wait for a connection (waiting_max)");
    }
    const Counted counted(waiting_);
    show();
    auto permit = co_await task::within(until - now(), permits_.acquire());
    if (!permit) {
        throw Error(Fault::busy, "no connection became free in time; connections_max is " +
                                     std::to_string(size()));
    }
    co_return std::move(*permit);
}

task::Task<std::unique_ptr<Pooled>> Reserve::ready_one(Instant until) {
    while (!idle_.empty()) {
        // The one used last is the likeliest to be open still; the others age until check_after.
        Idle idle = std::move(idle_.back());
        idle_.pop_back();
        if (idle.connection->gone()) continue;
        if (now() - idle.since < options_.check_after) co_return std::move(idle.connection);
        const Instant check_until = std::min(until, moment_after(now(), options_.connect_timeout));
        if (co_await idle.connection->answers(check_until)) co_return std::move(idle.connection);
    }
    co_return co_await new_one(until);
}

task::Task<std::unique_ptr<Pooled>> Reserve::new_one(Instant until) {
    while (true) {
        // After a failure all tasks of the loop leave the server alone for the same pause.
        if (next_attempt_ > until) {
            // The pause may be another task's, which has more time than this one.
            co_await task::sleep_until(until);
            throw Error(Fault::connection_lost, "the server did not answer the last attempts");
        }
        if (next_attempt_ > now()) co_await task::sleep_until(next_attempt_);
        std::optional<Error> failure;
        auto made = maker_();
        try {
            co_await made->open(std::min(until, moment_after(now(), options_.connect_timeout)));
        } catch (const Error& error) {
            failure = error;
        }
        if (!failure) {
            ++opened_;
            backoff_.reset();
            co_return made;
        }
        ++failed_;
        const Duration pause = backoff_.next();
        // Nothing gets better by waiting: the password is wrong, or the database is not there.
        if (!failure->worth_another()) throw *failure;
        // Also where this task has no time for another attempt: those behind it would each make one
        // of their own.
        next_attempt_ = moment_after(now(), pause);
        if (next_attempt_ >= until) throw *failure;
    }
}

// Spawned: only tasks that wait for its permit wait for it. At the runner's end it ends in here,
// and the connection with it.
task::Task<> Reserve::recover(std::unique_ptr<Pooled> connection, task::Semaphore::Permit permit) {
    bool recovered = false;
    try {
        recovered = co_await connection->recover();
    } catch (const Error&) {  // recovered stays false
    }
    if (recovered && !connection->broken() && connection->clean()) keep(std::move(connection));
    connection.reset();
    permit.release();
    show();
}

void Reserve::keep(std::unique_ptr<Pooled> connection) noexcept {
    idle_.push_back({std::move(connection), now()});
}

}  // namespace tiderace::db
