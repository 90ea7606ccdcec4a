// libpq's results and parameters as cells, values and faults of this room.
//
// Thread   Any; pure functions on a result that the caller owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/db/batch.h"
#include "tiderace/db/error.h"

struct pg_result;

namespace tiderace::db::postgres {

// The parameters of one statement, in libpq's arrays.
struct Parameters {
    explicit Parameters(const std::vector<Value>& values);

    std::vector<std::string> texts;
    std::vector<const char*> pointers;
    std::vector<int> sizes;
    std::vector<int> formats;  // 1: the bytes of a blob
};

Batch::Columns columns_of(const pg_result* result);
// All rows of the result. Throws Error{row} for what PostgreSQL should not have sent.
void add_rows(Batch& batch, const pg_result* result);

// The number of rows that a statement inserted, changed or deleted; 0 for one that reads.
std::uint64_t rows_changed(pg_result* result);
// The line of a script that failed after `done` of its statements; 0: unknown.
std::size_t line_of(const pg_result* result, std::string_view script, std::size_t done);

// By SQLSTATE (PostgreSQL's appendix A).
Fault fault_of(std::string_view state);
Error error_of(const pg_result* result);

}  // namespace tiderace::db::postgres
