// A file of a configuration, read whole. It may be a pipe, as of a shell's <(command).
//
// Thread   Any; blocks on the disk, and on a pipe for as long as is allowed.
// Errors   What the system says; a pipe into which nothing is written; a file that is too large.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tiderace/base/result.h"
#include "tiderace/base/units.h"

namespace tiderace::server {

// The silence of a pipe. While a server starts it holds signals back, so that an endless wait could
// not be ended.
inline constexpr Duration pipe_wait_default = 10s;

// `operation` begins the error: "read passwords from".
Result<std::string> read_file_or_pipe(const std::string& path, std::size_t bytes_max,
                                      std::string_view operation = "read",
                                      Duration pipe_wait_max = pipe_wait_default);

}  // namespace tiderace::server
