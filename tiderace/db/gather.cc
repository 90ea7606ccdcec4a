#include "tiderace/db/gather.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/db/execution.h"
#include "tiderace/db/pool.h"
#include "tiderace/task/sleep.h"

namespace tiderace::db {
namespace {

// What became of it is known: its task goes on.
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

bool Gather::helps() const {
    const Settings& settings = pool_->settings();
    // Only where all connections are lent: alone, a read is quicker. MariaDB's library has no
    // pipeline.
    return settings.options.reads_together > 1 && settings.url.dialect != Dialect::mariadb &&
           (!waiting_.empty() || pool_->all_lent(Lane::reads));
}

task::Task<std::optional<Batch>> Gather::read(QueryRef query, Portion portion) {
    // The same limit as for tasks that wait for a connection (Reserve), which these do not pass.
    if (waiting_.size() >= pool_->settings().options.waiting_max) {
        throw Error(Fault::busy, "too many tasks wait for a connection (waiting_max)");
    }
    auto read = std::make_shared<Read>();
    read->query = std::move(query);
    read->portion = portion;
    read->wait_until = waiting_deadline(*pool_);
    read->deadline = late(task::deadline());
    waiting_.push_back(read);
    Waiting waiting(*this, read);
    if (collectors_ < pool_->size(Lane::reads)) pool_->runner().spawn(collect());
    co_await waiting;
    if (read->failure) throw read->failure->with_statement(read->query->sql);
    co_return std::move(read->batch);
}

// As many as each of the connections gets that are waited for.
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

// No connection could be had: for those whose time to wait is over, or for all.
void Gather::fail(const Error& error) {
    const Instant now = pool_->now();
    std::deque<ReadRef> left;
    for (const ReadRef& each : std::exchange(waiting_, {})) {
        // The collector waited only as long as its first read may; the others may have more time.
        if (error.kind() == Fault::busy && each->wait_until > now) {
            left.push_back(each);
            continue;
        }
        each->failure = error;
        end(*each);
    }
    waiting_ = std::move(left);
}

task::Task<> Gather::collect() {
    const Counted counted(collectors_);
    while (!waiting_.empty()) {
        std::optional<Error> failure;
        try {
            Lease lease = co_await take_for_the_first();
            co_await serve(*lease);
        } catch (const Error& error) {
            failure = error;
        }
        if (failure) fail(*failure);
    }
}

task::Task<Lease> Gather::take_for_the_first() {
    const Counted counted(collectors_waiting_);
    co_return co_await pool_->take(Lane::reads, waiting_.front()->wait_until);
}

// For as long as reads wait and nobody else does.
task::Task<> Gather::serve(Connection& connection) {
    while (!waiting_.empty() && connection.clean() && !pool_->waited_for(Lane::reads)) {
        co_await run_share(connection);
        co_await task::yield();  // those that were answered may ask again
    }
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
        if (each->ended()) log_if_slow(*pool_, *each->query, each->took);
    }
}

}  // namespace tiderace::db
