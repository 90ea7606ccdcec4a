#include "tiderace/db/gather.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/db/execution.h"
#include "tiderace/db/pool.h"
#include "tiderace/task/sleep.h"

namespace tiderace::db {
namespace {

// Instructions of SQLite's machine, well below a millisecond: a statement that took more goes
// alone, because the statements beside it get their rows only when it has ended.
constexpr std::uint64_t steps_together_max = 20'000;

bool is_sqlite(const Pool& pool) {
    return pool.settings().url.dialect == Dialect::sqlite;
}

// The outcome is known: its task goes on.
void end(Read& read) {
    read.over = true;
    if (read.waiter != nullptr) read.waiter->wake();
}

}  // namespace

// A task that waits for its read. One that ends before it gives the read up.
//
//   read() -> waiting_ --share()--> on a connection --~Company()--> over: its task goes on
//                |                     |
//                |                     `-- its task ends before: abandoned(), the result is dropped
//                `-- its task ends before, or fail(): taken out of the list
//
// A read that comes back without an outcome is done again by its own task, on its own.
class [[nodiscard("co_await it")]] Gather::Waiting {
  public:
    Waiting(Gather& gather, ReadRef read) : gather_(&gather), read_(std::move(read)) {}
    ~Waiting() {
        read_->waiter = nullptr;
        read_->abandoned = true;
        if (read_->over) return;  // by then in no list
        if (read_->connection != nullptr) {
            read_->connection->abandoned(*read_);
        } else {
            std::erase(gather_->waiting_, read_);
        }
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    bool await_ready() const noexcept { return read_->over; }
    void await_suspend(std::coroutine_handle<> handle) {
        waiter_.suspend(handle);
        read_->waiter = &waiter_;
    }
    void await_resume() const noexcept {}

  private:
    Gather* gather_;
    ReadRef read_;
    task::Waiter waiter_;
};

// Reads on a connection. Whatever happens, the tasks that wait for them go on afterwards.
class Gather::Company {
  public:
    Company(Connection& connection, Reads all) : reads(std::move(all)) {
        for (const ReadRef& each : reads) each->connection = &connection;
    }
    ~Company() {
        for (const ReadRef& each : reads) {
            each->connection = nullptr;
            end(*each);
        }
    }
    Company(const Company&) = delete;
    Company& operator=(const Company&) = delete;

    const Reads reads;
};

bool Gather::helps(const Query& query) const {
    const Settings& settings = pool_->settings();
    if (settings.options.reads_together <= 1) return false;
    switch (settings.url.dialect) {
        case Dialect::sqlite:
            // The way to a thread and back costs more than most reads, so they share it.
            return query.statement->steps <= steps_together_max;
        case Dialect::postgres:
            // Only where all connections are lent: alone, a read is quicker.
            return !waiting_.empty() || pool_->free(Lane::reads) == 0;
        case Dialect::mariadb:
            return false;  // its library has no pipeline
    }
    std::unreachable();
}

// Tasks that are about to take reads. SQLite's threads share the processor with the loops: a second
// one pays when there is more than one can take at once.
std::size_t Gather::collectors_wanted() const {
    if (!is_sqlite(*pool_)) return pool_->size(Lane::reads);
    const std::size_t most = pool_->settings().options.reads_together;
    return (waiting_.size() + most - 1) / most;
}

task::Task<std::optional<Batch>> Gather::read(QueryRef query, Portion portion) {
    // The same limit as for tasks that wait for a connection (Reserve), which these do not pass.
    const std::size_t free = pool_->free(Lane::reads);
    if (waiting_.size() >= pool_->settings().options.waiting_max + free) {
        throw Error(Fault::busy, "too many tasks wait for a connection (waiting_max)");
    }
    // Shared: SQLite may still write its outcome on a thread when this task has been destroyed.
    auto read = std::allocate_shared<Read>(task::FrameAllocator<Read>());
    if (is_sqlite(*pool_)) read->room = Batch::room_for(query->statement->extent);
    read->query = std::move(query);
    read->portion = portion;
    read->wait_until = waiting_deadline(*pool_);
    read->deadline = late(task::deadline());
    waiting_.push_back(read);
    Waiting waiting(*this, read);
    const std::size_t taking = collectors_waiting_ + collectors_coming_;
    if (taking < collectors_wanted() && collectors_ < pool_->size(Lane::reads)) {
        pool_->runner().spawn(collect());
    }
    co_await waiting;
    if (read->failure) throw read->failure->with_statement(read->query->sql());
    co_return std::move(read->batch);
}

// As many as each of the connections gets that are waited for. The time of a statement counts from
// here on, as it does for one that has a connection for itself.
Reads Gather::share() {
    const std::size_t sharers = collectors_waiting_ + 1;
    const std::size_t fair = (waiting_.size() + sharers - 1) / sharers;
    const std::size_t count = std::min(fair, pool_->settings().options.reads_together);
    Reads taken(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    const Instant until = moment_after(pool_->now(), pool_->settings().options.statement_timeout);
    for (const ReadRef& each : taken) each->deadline = std::min(each->deadline, until);
    return taken;
}

// No connection could be had: for those whose time to wait is over, or for all. Where memory runs
// out in between, all of them are waiting still.
void Gather::fail(const Error& error, bool is_over) {
    const Instant now = pool_->now();
    for (const ReadRef& each : waiting_) {
        // The collector waited only as long as its first read may; the others may have more time.
        const bool may_wait = is_over && each->wait_until > now;
        if (!may_wait) each->failure = error;
    }
    std::erase_if(waiting_, [](const ReadRef& each) {
        if (each->failure) end(*each);
        return each->failure.has_value();
    });
}

task::Task<> Gather::collect() {
    const Counted counted(collectors_);
    try {
        co_await let_others_ask();
        while (!waiting_.empty()) {
            const Instant until = waiting_.front()->wait_until;
            std::optional<Error> failure;
            try {
                Lease lease = co_await take(until);
                co_await serve(*lease);
            } catch (const Error& error) {
                failure = error;
            }
            if (!failure) continue;
            // Busy before the time is over: other tasks fill the queue (waiting_max), and another
            // attempt would be refused in the same turn, again and again.
            const bool is_busy = failure->kind() == Fault::busy;
            const bool is_refused = is_busy && pool_->now() < until;
            if (is_refused && collectors_waiting_ > 0) co_return;  // one is in the queue for all
            fail(*failure, is_busy && !is_refused);
        }
    } catch (...) {  // such as a lack of memory
        leave_to_themselves();
        throw;  // a line of the log
    }
}

// This task ends, and no other may come for the waiting reads. Allocates nothing, because it is
// called where memory has run out.
void Gather::leave_to_themselves() {
    for (const ReadRef& each : waiting_) end(*each);
    waiting_.clear();
}

task::Task<Lease> Gather::take(Instant until) {
    const Counted counted(collectors_waiting_);
    co_return co_await pool_->take(Lane::reads, until);
}

// For as long as reads wait and nobody else does.
task::Task<> Gather::serve(Connection& connection) {
    while (!waiting_.empty() && connection.clean() && !pool_->waited_for(Lane::reads)) {
        co_await run_share(connection);
        // Free before the tasks that were answered go on: in SQLite they need not find it lent to
        // come here again.
        if (waiting_.empty() && is_sqlite(*pool_)) co_return;
        co_await let_others_ask();  // tasks that were answered may read again
    }
}

// Until the tasks that are ready have added their reads.
task::Task<> Gather::let_others_ask() {
    const Counted counted(collectors_coming_);
    co_await task::yield();
}

task::Task<> Gather::run_share(Connection& connection) {
    const Company company(connection, share());
    bool all_done = true;
    try {
        co_await connection.run_together(company.reads);
    } catch (const Error&) {  // each is done again for itself, and has its own
        all_done = false;
    }
    for (const ReadRef& each : company.reads) {
        // Its rows may be whole, and yet part of a transaction that the failure has undone.
        if (!all_done) each->batch.reset();
        // Here on the loop, and not where they were counted: Statement::steps has no lock.
        if (each->steps > 0) each->query->statement->steps = each->steps;
        if (each->batch) each->query->statement->extent = each->batch->extent();
        if (each->ended()) log_if_slow(*pool_, *each->query, each->took);
    }
}

}  // namespace tiderace::db
