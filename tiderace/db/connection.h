// Internal. Connection: what each database gives the room: run a statement, read on, return to a
// clean state.
//
//   open() -> idle -> run() -> [more() while the batch has more] -> idle
//               ^                  |
//               +---- recover() <--+  cancelled, or rows or a transaction were left
//
// A task that is destroyed inside run() or more() leaves the connection `unfinished`: it stops what
// runs as soon as it can, and recover() waits for that.
//
// Owner    The pool; lent to one task at a time.
// Thread   The loop's.
// Errors   Error, thrown by the await.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/units.h"
#include "tiderace/db/batch.h"
#include "tiderace/db/error.h"
#include "tiderace/db/reserve.h"
#include "tiderace/db/statement.h"
#include "tiderace/task/task.h"

namespace tiderace::db {

// The part that all queries of one text share.
struct Statement {
    std::string sql;  // as the program wrote it, for messages
    Scanned scanned;
    // The steps of its last run (Batch::steps). The loop's alone, which writes it while threads of
    // the pool read the texts.
    std::uint64_t steps = 0;
    Batch::Extent extent = {};  // of its last result that came with others (gather.h)
};
using StatementRef = std::shared_ptr<Statement>;

struct Query {
    Query(StatementRef text, std::vector<Value> given)
        : statement(std::move(text)), values(std::move(given)) {}
    explicit Query(Statement text, std::vector<Value> given = {})
        : Query(std::make_shared<Statement>(std::move(text)), std::move(given)) {}

    const std::string& sql() const { return statement->sql; }
    const Scanned& scanned() const { return statement->scanned; }

    StatementRef statement;
    std::vector<Value> values;
};
using QueryRef = std::shared_ptr<const Query>;
// A connection's own, whose text is not scanned: one statement without parameters.
inline QueryRef command(const std::string& sql) {
    return std::make_shared<Query>(Statement{.sql = sql, .scanned = {.text = sql}});
}

// How much of a result is read at once.
struct Portion {
    std::size_t rows_max = 0;
    std::size_t bytes_max = 0;  // above it a batch ends after its row
};

// A message of PostgreSQL's NOTIFY.
struct Notification {
    std::string channel;
    std::string payload;
};

class Connection;

// A read that goes to the database together with other tasks' reads (gather.h).
struct Read {
    QueryRef query;
    Portion portion;
    Instant wait_until = Instant::max();  // for a connection
    Instant deadline = Instant::max();
    Batch::Room room;  // for its rows; a connection that has no use for it leaves it
    // The outcome. Neither: the read is done again, for itself.
    std::optional<Batch> batch;
    std::optional<Error> failure;
    Duration took{};
    std::uint64_t steps = 0;  // of SQLite, also where it has no outcome

    bool ended() const { return batch || failure; }

    // Its task has gone. SQLite looks at it on a thread of the pool.
    std::atomic<bool> abandoned = false;
    bool over = false;
    Connection* connection = nullptr;  // that runs it
    task::Waiter* waiter = nullptr;
};
using ReadRef = std::shared_ptr<Read>;
using Reads = std::vector<ReadRef>;

class Connection : public Pooled {
  public:
    // The first rows; all of them unless `more` is set. One at a time.
    virtual task::Task<Batch> run(QueryRef query, Portion portion, Instant deadline) = 0;
    virtual task::Task<Batch> more(Portion portion, Instant deadline) = 0;
    // Several statements in one text, without parameters and rows.
    virtual task::Task<> script(std::string sql, Instant deadline) = 0;
    // Reads that know nothing of one another. What is not ended afterwards was not done, or only as
    // part of what has failed. For databases that Gather helps.
    virtual task::Task<> run_together(Reads reads);
    // The task of one of them has gone.
    virtual void abandoned(const Read&) {}
    // At least one, or none at the deadline.
    virtual task::Task<std::vector<Notification>> notifications(Instant deadline);

    // The isolation of the next transaction is set, and that has not begun: until it has, the
    // connection is not clean, and recover() takes the setting back. (MariaDB, where it is a
    // statement of its own.)
    virtual void set_isolation_pending(bool /*on*/) {}

    // The statement that lost the connection had been sent: it may have been done.
    virtual bool maybe_done() const = 0;
};

}  // namespace tiderace::db
