#include "tiderace/db/transaction.h"

#include "tiderace/db/execution.h"

namespace tiderace::db {
namespace {

std::string begin_sql(Dialect dialect, const TransactionOptions& options) {
    switch (dialect) {
        case Dialect::sqlite:
            // Immediate takes the lock at once: a transaction that begins by reading could find at
            // its first change that another has written meanwhile, and would have to be repeated.
            return options.reads_only ? "begin" : "begin immediate";
        case Dialect::postgres:
            return std::string("begin") +
                   (options.serializable ? " isolation level serializable" : "") +
                   (options.reads_only ? " read only" : "");
        case Dialect::mariadb:
            break;
    }
    return options.reads_only ? "start transaction read only" : "start transaction";
}

// Wherever its connection is lost, a statement that only begins has changed nothing, so that it may
// be sent again as a read is.
QueryRef beginning(std::string sql) {
    Scanned scanned{.text = sql, .reads = true};
    return std::make_shared<Query>(Statement{.sql = std::move(sql), .scanned = std::move(scanned)});
}

}  // namespace

// A statement that runs, or whose rows are read. One that ends unfinished was cancelled.
//
//   usable -- Use --> busy_ -- finished --> usable, or failed_ (an error)
//                       `---- its task ended: doomed_, recover() rolls it back
//   failed_ -- roll_back_to_savepoint() --> usable; doomed_ stays
//
class Transaction::Use {
  public:
    explicit Use(Transaction& transaction) : transaction_(&transaction) {
        transaction.check_usable();
        transaction.busy_ = true;
    }
    ~Use() {
        transaction_->busy_ = false;
        // The state of the connection is unknown, so no further statement may be sent
        // on it.
        if (!finished_) transaction_->doomed_ = true;
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    void finished() { finished_ = true; }

  private:
    Transaction* transaction_;
    bool finished_ = false;
};

void Transaction::check_usable() const {
    if (busy_) throw Error(Fault::other, "a transaction runs one statement at a time");
    if (doomed_) {
        throw Error(Fault::other, "a statement of this transaction was cancelled: it is over");
    }
    if (failed_) {
        throw Error(Fault::other, "a statement of this transaction has failed: it is over");
    }
}

task::Task<std::unique_ptr<Transaction>> Transaction::begin(Pool& pool,
                                                            TransactionOptions options) {
    const Dialect dialect = pool.settings().url.dialect;
    if (dialect == Dialect::mariadb && options.serializable) {
        co_return co_await begin_serializable(pool, options);
    }
    // SQLite has no connection to lose, and the writer is for what does not read.
    const bool is_sqlite = dialect == Dialect::sqlite;
    QueryRef query = is_sqlite ? make_query(pool, begin_sql(dialect, options), {})
                               : beginning(begin_sql(dialect, options));
    const bool writes = is_sqlite && !options.reads_only;
    Begun begun = co_await begin_statement(pool, query, writes ? Wanted::no_rows : Wanted::all_rows,
                                           portion_for(Wanted::no_rows, pool.settings().options));
    co_return std::unique_ptr<Transaction>(new Transaction(std::move(begun.lease)));
}

// MariaDB sets the level by a statement of its own, for the next transaction of the same
// connection: both are repeated together.
task::Task<std::unique_ptr<Transaction>> Transaction::begin_serializable(
    Pool& pool, TransactionOptions options) {
    const Instant until = waiting_deadline(pool);
    for (unsigned repeats = repeats_max; true; --repeats) {
        auto one =
            std::unique_ptr<Transaction>(new Transaction(co_await pool.take(Lane::writes, until)));
        // Otherwise a transaction of another task would have it where this one does not begin.
        one->lease_->set_isolation_pending(true);
        std::optional<Error> failure;
        try {
            co_await one->command("set transaction isolation level serializable");
            co_await one->command(begin_sql(Dialect::mariadb, options));
        } catch (const Error& error) {
            failure = error;
        }
        if (!failure) {
            one->lease_->set_isolation_pending(false);
            co_return one;
        }
        if (failure->kind() != Fault::connection_lost || repeats == 0) throw *failure;
    }
}

task::Task<Batch> Transaction::fetch(Wanted wanted, std::string sql, std::vector<Value> values) {
    Use use(*this);
    Pool& pool = lease_.pool();
    const Options& options = pool.settings().options;
    std::optional<Error> failure;
    Batch batch;
    try {
        QueryRef query = make_query(pool, std::move(sql), std::move(values));
        batch = co_await run_on(pool, *lease_, query, portion_for(wanted, options));
        check_size(batch, wanted, *query, options);
        if (batch.wants_writer) throw Error(Fault::other, "a change in a transaction that reads");
        // one() has its second row by now. The rest is read and dropped, because the transaction
        // goes on with this connection.
        while (batch.more && wanted != Wanted::no_rows) {
            const Portion rest{.rows_max = options.stream_rows, .bytes_max = options.stream_bytes};
            batch.more = (co_await lease_->more(rest, statement_deadline(pool))).more;
        }
    } catch (const Error& error) {
        failure = error;
    }
    use.finished();
    if (!failure) co_return batch;
    // PostgreSQL refuses all further statements by itself. SQLite and MariaDB would go on, and
    // commit half of what was meant.
    failed_ = true;
    throw ended_with(*failure);
}

// Whatever the statement did, it ends with the connection; but for a commit.
Error Transaction::ended_with(const Error& failure) const {
    const bool ended = failure.kind() == Fault::unknown_outcome && !committing_;
    return ended ? failure.with_kind(Fault::timeout) : failure;
}

task::Generator<Batch> Transaction::batches(std::string sql, std::vector<Value> values) {
    Use use(*this);
    Pool& pool = lease_.pool();
    const Options& options = pool.settings().options;
    const Portion portion{.rows_max = options.stream_rows, .bytes_max = options.stream_bytes};
    std::optional<Error> failure;
    QueryRef query;
    Batch batch;
    try {
        query = make_query(pool, std::move(sql), std::move(values));
        batch = co_await run_on(pool, *lease_, query, portion);
    } catch (const Error& error) {
        failure = error;
    }
    while (!failure) {
        const bool more = batch.more;
        co_yield std::move(batch);
        if (!more) break;
        try {
            batch = co_await read_on(pool, *lease_, query, portion);
        } catch (const Error& error) {
            failure = error;
        }
    }
    // A reader that stops before the end does not come here, and Use dooms the transaction.
    use.finished();
    if (!failure) co_return;
    failed_ = true;
    throw ended_with(*failure);
}

task::Task<> Transaction::command(std::string sql) {
    co_await fetch(Wanted::no_rows, std::move(sql), {});
}

task::Task<> Transaction::commit() {
    std::optional<Error> failure;
    committing_ = true;
    try {
        co_await command("commit");
    } catch (const Error& error) {
        // The server may have committed before the connection broke: only the caller can find out,
        // so it must not be repeated. Nor does MariaDB promise that a commit that was killed has
        // done nothing; PostgreSQL and SQLite do.
        const bool is_lost = error.kind() == Fault::connection_lost && lease_->maybe_done();
        const bool is_killed = error.kind() == Fault::timeout &&
                               lease_.pool().settings().url.dialect == Dialect::mariadb;
        const bool unknown = is_lost || is_killed;
        failure = unknown ? error.with_kind(Fault::unknown_outcome) : error;
    }
    if (failure) throw *failure;
}

task::Task<> Transaction::roll_back() {
    doomed_ = true;
    // The server rolls back what a connection leaves open.
    if (lease_->broken()) co_return;
    try {
        co_await lease_->recover();
    } catch (const Error&) {  // then it is broken, and the pool closes it
    }
}

task::Task<> Transaction::save() {
    check_usable();
    co_await command("savepoint tiderace_" + std::to_string(depth_ + 1));
    ++depth_;
}

task::Task<> Transaction::release() {
    co_await command("release savepoint tiderace_" + std::to_string(depth_));
    --depth_;
}

task::Task<> Transaction::roll_back_to_savepoint() {
    // The savepoint is what makes a failed statement harmless to the rest.
    failed_ = false;
    const std::string name = "tiderace_" + std::to_string(depth_);
    --depth_;
    if (doomed_ || lease_->broken()) co_return;
    try {
        co_await command("rollback to savepoint " + name);
        co_await command("release savepoint " + name);
    } catch (const Error&) {  // failed_ is set: the whole of it is rolled back
    }
}

}  // namespace tiderace::db
