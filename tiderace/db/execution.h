// Execution: one statement on a connection: checked before it is sent, timed, its error named.
//
// Thread   The loop's.
// Keywords: prepared statements, slow query
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/db/connection.h"
#include "tiderace/db/error.h"
#include "tiderace/db/pool.h"
#include "tiderace/db/statements.h"

namespace tiderace::db {

// After a lost connection: every idle one of the pool may have been lost with it.
inline constexpr unsigned repeats_max = 2;

// Throws Error{parameters} or Error{syntax}: their number and size, text that is not UTF-8 or has a
// zero byte, two statements.
QueryRef make_query(Dialect dialect, std::string sql, std::vector<Value> values);
// The same, and its text is scanned only if the pool does not know it.
QueryRef make_query(Pool& pool, std::string sql, std::vector<Value> values);

// A lower bound of the bytes that its values, or its text, take in a message to the server.
std::uint64_t bytes_of(const Query& query);
// Throws Error{parameters} for what no server of this kind takes.
void check_room(Dialect dialect, std::size_t values, std::uint64_t bytes, const std::string& sql);

// Whether it changes nothing, by its first word and by what is wanted of it.
bool only_reads(const Query& query, Wanted wanted);

// The portion that is read for it at once.
Portion portion_for(Wanted wanted, const Options& options);

// Until when a statement that begins now may take, and until when a task may wait for a connection.
// A little longer than the task's own deadline: within() comes first, and reports it.
Instant statement_deadline(const Pool& pool);
Instant waiting_deadline(const Pool& pool);

// A little later than a deadline of the task.
Instant late(Instant deadline);

// A warning for one that took longer than Options::slow, without its values.
void log_if_slow(const Pool& pool, const Query& query, Duration took);

// Runs it and reads its first portion.
task::Task<Batch> run_on(Pool& pool, Connection& connection, QueryRef query, Portion portion);

// The next portion, with a deadline of its own: how long the reader takes between them is its own
// affair. Its errors are run_on()'s.
task::Task<Batch> read_on(Pool& pool, Connection& connection, QueryRef query, Portion portion);
// What a failed statement outside of a transaction came to, by what it may have done.
Error outcome_of(const Error& failure, const Connection& connection, const Query& query,
                 Wanted wanted);

// A connection with the first portion of a result.
struct Begun {
    Lease lease;
    Batch batch;
};
// Outside of a transaction: on which side, and again where that is safe.
task::Task<Begun> begin_statement(Pool& pool, QueryRef query, Wanted wanted, Portion portion);

// Throws Error{row} for more rows than the options allow.
void check_size(const Batch& batch, Wanted wanted, const Query& query, const Options& options);

}  // namespace tiderace::db
