#include "tiderace/db/execution.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/base/utf8.h"
#include "tiderace/db/error.h"
#include "tiderace/log/logger.h"
#include "tiderace/task/sleep.h"

namespace tiderace::db {
namespace {

constexpr Duration busy_pause = 1ms;
constexpr Duration busy_pause_max = 50ms;
// Beyond the task's own deadline, so that within() ends the task first and reports it.
constexpr Duration grace = 100ms;

// Messages to PostgreSQL and MariaDB have 16 bits for the number of the values, and neither takes a
// message of a gibibyte: it closes the connection instead. Below it is room for what bytes_of()
// does not count.
constexpr std::size_t values_max = 65'535;
constexpr std::uint64_t message_bytes_max = 1'020_MiB;
constexpr std::uint64_t value_bytes = 40;  // of a number or a time, and beside the bytes of each

void check_text(std::string_view text, const std::string& sql) {
    if (!is_utf8(text)) throw Error(Fault::parameters, "text that is not UTF-8", sql);
    if (text.find('\0') != text.npos) {
        throw Error(Fault::parameters, "text with a zero byte; a Blob may have them", sql);
    }
}

}  // namespace

Error outcome_of(const Error& failure, const Connection& connection, const Query& query,
                 Wanted wanted) {
    // A read changes nothing, so whether it was done makes no difference.
    if (failure.kind() == Fault::unknown_outcome && only_reads(query, wanted)) {
        return failure.with_kind(Fault::timeout);
    }
    const bool unknown = failure.kind() == Fault::connection_lost && connection.maybe_done() &&
                         !only_reads(query, wanted);
    return unknown ? failure.with_kind(Fault::unknown_outcome) : failure;
}

// The larger of the two: text and values go in messages of their own.
std::uint64_t bytes_of(const Query& query) {
    std::uint64_t bytes = 0;
    for (const Value& value : query.values) bytes += value.bytes().size() + value_bytes;
    return std::max<std::uint64_t>(bytes, query.scanned().text.size());
}

void check_room(Dialect dialect, std::size_t values, std::uint64_t bytes, const std::string& sql) {
    if (dialect == Dialect::sqlite) return;  // it has limits of its own, and no connection to lose
    if (values > values_max) {
        throw Error(
            Fault::parameters,
            std::to_string(values) + " values, and a statement takes " + std::to_string(values_max),
            sql);
    }
    if (bytes > message_bytes_max) {
        throw Error(Fault::parameters,
                    std::to_string(bytes) + " bytes, and a statement takes " +
                        std::to_string(message_bytes_max) + " of text or of values",
                    sql);
    }
}

Instant late(Instant deadline) {
    return moment_after(deadline, grace);
}

bool only_reads(const Query& query, Wanted wanted) {
    return query.scanned().reads && wanted != Wanted::no_rows;
}

void log_if_slow(const Pool& pool, const Query& query, Duration took) {
    log::Logger* const log = pool.runner().loop().log();
    if (took < pool.settings().options.slow || log == nullptr) return;
    const Error named(Fault::other, "", query.sql());  // as long as a statement is shown
    log->warning(
        "db", "a slow statement", log::field("statement", named.statement()),
        log::field("took", format_duration(std::chrono::floor<std::chrono::milliseconds>(took))));
}

namespace {

StatementRef checked(Dialect dialect, std::string sql) {
    check_text(sql, sql);
    Scanned scanned = scan(sql, dialect);
    if (scanned.many) {
        throw Error(Fault::syntax, "one statement at a time; script() takes several", sql);
    }
    if (scanned.listens) {
        throw Error(Fault::syntax,
                    "what is sent to the channel would reach no task: use db::listen(db, channel)",
                    sql);
    }
    return std::make_shared<Statement>(Statement{std::move(sql), std::move(scanned)});
}

QueryRef with_values(Dialect dialect, StatementRef statement, std::vector<Value> values) {
    auto query = std::allocate_shared<Query>(task::FrameAllocator<Query>(), std::move(statement),
                                             std::move(values));
    // Checked here, where the text is at hand: each database would put it differently, and SQLite
    // would take null for a missing value.
    if (query->scanned().parameters != query->values.size()) {
        throw Error(Fault::parameters,
                    std::to_string(query->scanned().parameters) + " question marks and " +
                        std::to_string(query->values.size()) + " values",
                    query->sql());
    }
    for (const Value& value : query->values) {
        if (value.kind() != Kind::blob) check_text(value.bytes(), query->sql());
    }
    check_room(dialect, query->values.size(), bytes_of(*query), query->sql());
    return query;
}

}  // namespace

QueryRef make_query(Dialect dialect, std::string sql, std::vector<Value> values) {
    return with_values(dialect, checked(dialect, std::move(sql)), std::move(values));
}

QueryRef make_query(Pool& pool, std::string sql, std::vector<Value> values) {
    const Dialect dialect = pool.settings().url.dialect;
    if (const StatementRef* const known = pool.statements().find(sql)) {
        return with_values(dialect, *known, std::move(values));
    }
    // Only what passed the checks is kept. One that is too large for the table is scanned each
    // time.
    StatementRef statement = checked(dialect, sql);
    // Kept three times: as the key, as it was written, and as the database takes it.
    const std::size_t cost = 3 * sql.size() + Pool::statement_bytes;
    pool.statements().put(std::move(sql), statement, cost);
    return with_values(dialect, std::move(statement), std::move(values));
}

Portion portion_for(Wanted wanted, const Options& options) {
    if (wanted == Wanted::one_row) {
        // The second row shows one() that there is more than one, which is an error.
        return {.rows_max = 2, .bytes_max = options.bytes_max};
    }
    // One more, to notice that there are too many. SIZE_MAX is no limit.
    const std::size_t rows_max = std::min(options.rows_max, SIZE_MAX - 1) + 1;
    return {.rows_max = rows_max, .bytes_max = options.bytes_max};
}

Instant statement_deadline(const Pool& pool) {
    return std::min(late(task::deadline()),
                    moment_after(pool.now(), pool.settings().options.statement_timeout));
}

Instant waiting_deadline(const Pool& pool) {
    return std::min(late(task::deadline()),
                    moment_after(pool.now(), pool.settings().options.waiting_timeout));
}

task::Task<Batch> run_on(Pool& pool, Connection& connection, QueryRef query, Portion portion) {
    const Instant begun = pool.now();
    std::optional<Error> failure;
    Batch batch;
    try {
        batch = co_await connection.run(query, portion, statement_deadline(pool));
    } catch (const Error& error) {
        failure = error.with_statement(query->sql());
    }
    log_if_slow(pool, *query, pool.now() - begun);
    if (batch.steps > 0) query->statement->steps = batch.steps;
    if (failure) throw *failure;
    co_return batch;
}

task::Task<Batch> read_on(Pool& pool, Connection& connection, QueryRef query, Portion portion) {
    std::optional<Error> failure;
    Batch batch;
    try {
        batch = co_await connection.more(portion, statement_deadline(pool));
    } catch (const Error& error) {
        failure = error.with_statement(query->sql());
    }
    if (failure) throw *failure;
    co_return batch;
}

//
//   take a connection -> run -> done
//      ^                  |-- it wants the writer: again there
//      |                  |-- connection lost, and it only reads or was not sent: again, twice
//      '------------------+-- busy, and there is time: again after a pause
//                         `-- anything else: thrown
//
task::Task<Begun> begin_statement(Pool& pool, QueryRef query, Wanted wanted, Portion portion) {
    Instant until = waiting_deadline(pool);
    // "with" may read or change (with ... insert): SQLite's reader finds out and asks for the
    // writer. The servers have one lane.
    const bool may_read = query->scanned().reads || query->scanned().with;
    Lane lane = may_read && wanted != Wanted::no_rows ? Lane::reads : Lane::writes;
    const bool reads = only_reads(*query, wanted);
    unsigned repeats = repeats_max;
    Duration pause = busy_pause;
    while (true) {
        Begun begun;
        begun.lease = co_await pool.take(lane, until);
        std::optional<Error> failure;
        try {
            begun.batch = co_await run_on(pool, *begun.lease, query, portion);
        } catch (const Error& error) {
            failure = outcome_of(error, *begun.lease, *query, wanted);
        }
        if (!failure && !begun.batch.wants_writer) co_return begun;
        if (!failure) {
            lane = Lane::writes;
        } else if (failure->kind() == Fault::connection_lost && repeats > 0 &&
                   (reads || !begun.lease->maybe_done())) {
            --repeats;
            until = waiting_deadline(pool);  // the statement may have taken longer than that
        } else if (failure->kind() == Fault::busy && pool.now() + pause < until) {
            // Not while it sleeps: another task may be the one that holds the lock, and need a
            // connection.
            begun.lease.give_back();
            co_await task::sleep(pool.about(pause));
            pause = std::min(pause * 2, busy_pause_max);
        } else {
            throw *failure;
        }
    }
}

void check_size(const Batch& batch, Wanted wanted, const Query& query, const Options& options) {
    if (wanted == Wanted::one_row || (!batch.more && batch.rows() <= options.rows_max)) return;
    throw Error(Fault::row,
                "more than " + std::to_string(options.rows_max) + " rows or " +
                    std::to_string(options.bytes_max) + " bytes; stream() has no such limit",
                query.sql());
}

}  // namespace tiderace::db
