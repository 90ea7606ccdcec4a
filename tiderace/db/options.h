// Options: how a database is used by each loop.
#pragma once

#include <cstddef>

#include "tiderace/base/units.h"

namespace tiderace::db {

struct Options {
    // For each loop. SQLite: readers; one more writes.
    std::size_t connections_max = 8;
    // Reads of one() and all() that a connection takes at once, each behind the others: in
    // PostgreSQL when all connections are busy, in SQLite always, in MariaDB never. 1: each has a
    // connection for itself.
    std::size_t reads_together = 16;
    // Tasks of a loop that wait for a connection; one more fails at once (Error{busy}).
    std::size_t waiting_max = 1'024;
    // For a connection or, in SQLite, for the lock of another writer (Error{busy}).
    Duration waiting_timeout = 5s;
    // One statement, from when it has a connection (Error{timeout}). The deadline of the task
    // counts, too.
    Duration statement_timeout = 30s;
    Duration connect_timeout = 5s;
    // The pause after a failed connection doubles from the first to the second, a little random.
    Duration reconnect_pause = 50ms;
    Duration reconnect_pause_max = 5s;
    // A connection that was idle for this long is pinged before it is used.
    Duration check_after = 30s;
    // Slower ones are a warning in the log, without their values.
    Duration slow = 1s;
    // Prepared statements that each connection keeps.
    std::size_t statements_max = 128;
    // Rows that all() takes and the bytes of a result; more is Error{row}.
    std::size_t rows_max = 100'000;
    std::size_t bytes_max = 64_MiB;
    // The rows that stream() reads ahead.
    std::size_t stream_rows = 256;
    std::size_t stream_bytes = 256_KiB;
};

}  // namespace tiderace::db
