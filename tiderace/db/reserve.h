// Internal. Reserve: connections of one kind that tasks of a loop borrow, one task each.
//
//   take() -> a free one, checked for an answer if it was idle for long
//          -> a new one, while there are fewer than connections_max
//          -> or wait in order                               (Error{busy})
//   Loan ends -> clean: free again;  not clean: recovered first, on its own;  broken: closed, and
//                so is one for whose recovery there is no memory
//
// Owner    A pool, in the runner's locals. A Loan that is kept longer has no connection any more.
// Thread   The loop's.
// Errors   Error{busy}; what opening a connection throws.
// Limits   ReserveOptions.
// Keywords: connection pool, idle connections
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/loop_count.h"
#include "tiderace/base/units.h"
#include "tiderace/db/options.h"
#include "tiderace/task/backoff.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/semaphore.h"
#include "tiderace/task/task.h"

namespace tiderace::db {

// A connection that is lent.
class Pooled {
  public:
    virtual ~Pooled() = default;

    virtual task::Task<> open(Instant deadline) = 0;
    // Ends what was left: statements, rows, a transaction. False: of no further use.
    virtual task::Task<bool> recover() = 0;
    // Whether the other end is still there.
    virtual task::Task<bool> answers(Instant deadline) = 0;
    // Asked of an idle connection, does not wait: the other end has closed it.
    virtual bool gone() = 0;
    // Nothing runs, no rows are left, no transaction is open.
    virtual bool clean() const = 0;
    // It failed for good: to be closed.
    virtual bool broken() const = 0;
};

// One more in a count for as long as it lives, however its task ends.
class Counted final {
  public:
    explicit Counted(std::size_t& count) : count_(&count) { ++*count_; }
    ~Counted() { --*count_; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

  private:
    std::size_t* count_;
};

// What a reserve shows to other threads: written on its loop alone.
struct ReserveCounts {
    LoopCount idle;
    LoopCount lent;  // or being opened or recovered
    LoopCount waiting;
    LoopCount opened;
    LoopCount failed;  // connections that could not be opened
};

struct ReserveOptions {
    std::size_t connections_max = Options{}.connections_max;
    std::size_t waiting_max = Options{}.waiting_max;
    Duration connect_timeout = Options{}.connect_timeout;
    Duration reconnect_pause = Options{}.reconnect_pause;
    Duration reconnect_pause_max = Options{}.reconnect_pause_max;
    Duration check_after = Options{}.check_after;
};

class Reserve;

class Loan : private ListHook {
  public:
    Loan() = default;
    Loan(Loan&& other) noexcept : ListHook() { take_over(other); }
    Loan& operator=(Loan&&) noexcept;
    ~Loan() { give_back(); }

    // nullptr: it was given back, or the reserve has ended.
    Pooled* get() const { return connection_.get(); }
    // Also called by the destructor, so it never throws.
    void give_back() noexcept;

  private:
    friend class Reserve;
    friend class IntrusiveList<Loan>;

    void take_over(Loan& other) noexcept;
    void give_back_to(Reserve& reserve) noexcept;
    void end() noexcept;

    Reserve* reserve_ = nullptr;
    std::unique_ptr<Pooled> connection_;
    task::Semaphore::Permit permit_;
};

class Reserve final {
  public:
    using Maker = std::function<std::unique_ptr<Pooled>()>;

    Reserve(task::Runner& runner, const ReserveOptions& options, Maker maker,
            std::shared_ptr<ReserveCounts> shown = std::make_shared<ReserveCounts>());
    ~Reserve();
    Reserve(const Reserve&) = delete;
    Reserve& operator=(const Reserve&) = delete;

    task::Task<Loan> take(Instant until);

    struct Counters {
        std::size_t idle = 0;
        std::size_t lent = 0;  // or being opened or recovered
        std::size_t waiting = 0;
        std::uint64_t opened = 0;
        std::uint64_t failed = 0;  // connections that could not be opened
    };
    Counters counters() const;
    std::size_t size() const { return options_.connections_max; }
    std::size_t free() const { return permits_.free(); }
    // No task has a connection of it, or waits for one.
    bool unused() const { return free() == size() && waiting_ == 0; }

  private:
    friend class Loan;
    struct Idle {
        std::unique_ptr<Pooled> connection;
        Instant since;
    };

    Instant now() const { return runner_->loop().now(); }
    task::Task<task::Semaphore::Permit> wait_for_permit(Instant until);
    task::Task<std::unique_ptr<Pooled>> ready_one(Instant until);
    task::Task<std::unique_ptr<Pooled>> new_one(Instant until);
    task::Task<> recover(std::unique_ptr<Pooled> connection, task::Semaphore::Permit permit);
    void keep(std::unique_ptr<Pooled> connection) noexcept;
    void show() noexcept;

    task::Runner* runner_;
    ReserveOptions options_;
    Maker maker_;
    task::Semaphore permits_;
    IntrusiveList<Loan> lent_;
    std::vector<Idle> idle_;  // the one used last is at the back; has room for all that are lent
    std::size_t waiting_ = 0;
    task::Backoff backoff_;  // after a connection that could not be made
    Instant next_attempt_{};
    std::uint64_t opened_ = 0;
    std::uint64_t failed_ = 0;
    std::shared_ptr<ReserveCounts> shown_;
};

}  // namespace tiderace::db
