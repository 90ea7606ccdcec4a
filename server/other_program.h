// The programs beside this one that it turns into, so that a plain server carries none of them:
//
//   tiderace-tls   this one with OpenSSL; without it, 1.5 MB less memory (docs/decisions/0010-…)
//   tiderace-load  the load generator, with OpenSSL
//   tiderace-lab   the lab, with the libraries of its engines
//   tiderace-db    migrations, with the client libraries of the databases
//   tiderace-tools works on files and folders before they are served: fmt, import, new, …
//
// Where TLS is built in (a build for another system than Linux), the first is not needed.
//
// Thread   Main only, before any other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/command_line/command_line.h"
#include "tiderace/base/result.h"
#include "tiderace/core/child_process.h"

namespace tiderace::server {

inline constexpr std::string_view tls_program_name = "tiderace-tls";
inline constexpr std::string_view load_program_name = "tiderace-load";
inline constexpr std::string_view lab_program_name = "tiderace-lab";
inline constexpr std::string_view database_program_name = "tiderace-db";
inline constexpr std::string_view tools_program_name = "tiderace-tools";

// Where the other one is, if it can be run: in `folder`.
Result<std::string> find_program(std::string_view name,
                                 const std::optional<std::string>& folder = core::own_folder());

// TLS is built in, or in the program beside.
bool has_tls();
// The command needs TLS.
bool asks_for_tls(const Command& command);

// Becomes the program with these words. Returns, with the exit status, only where that fails.
int become_program(std::string_view name, std::span<const std::string_view> words);

}  // namespace tiderace::server
