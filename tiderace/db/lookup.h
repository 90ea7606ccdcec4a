// The addresses of a host for libraries whose own lookup would block: found by task::Lookup.
//
// Thread   The loop's, in a task.
// Errors   Error{connection_lost}: no such host, no answer in time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tiderace/base/unique_function.h"
#include "tiderace/base/units.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/task.h"

namespace tiderace::db {

// IP addresses as text. A literal address and localhost are not looked up.
task::Task<std::vector<std::string>> addresses_of(std::string host, Instant until);

// Until when the first of so many addresses is tried: each has its share of the time that is left,
// so that one that does not answer leaves some to those behind it.
Instant share_of(Instant now, Instant until, std::size_t addresses);

// Calls `open` with one address after another until it throws nothing, or what it throws would be
// the same at the others: the libraries give all of the time to one that does not answer.
task::Task<> open_one_of(
    task::Runner& runner, std::vector<std::string> addresses, Instant deadline,
    unique_function<task::Task<>(const std::string& address, Instant until)> open);

// An IP address, and no name.
bool is_address(const std::string& host);

}  // namespace tiderace::db
