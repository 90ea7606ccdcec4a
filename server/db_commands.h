// The commands of the program `tiderace-db`, which a person reaches as `tiderace db`: the
// migrations of a database (tiderace/db/migrations.h).
//
//   tiderace db migrate URL DIR      runs what is pending
//   tiderace db status URL DIR       lists applied and pending migrations; changes nothing
//
// Thread   Before any other: main only. run_database_command() runs a loop of its own.
// Errors   parse never prints and never exits. A fault of the database is in the Outcome.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "server/command_line/command_line.h"
#include "server/command_line/flags.h"

namespace tiderace::server {

struct DatabaseOptions {
    bool status_only = false;
    std::string url;
    std::string folder;
};

using DatabaseCommand = std::variant<Printout, DatabaseOptions>;

std::span<const CommandSpec> database_commands();
// `words` are the arguments after the program's name.
std::expected<DatabaseCommand, CliFailure> parse_database_command_line(
    std::span<const std::string_view> words);

struct DatabaseOutcome {
    std::string text;       // for standard output
    std::string complaint;  // "": it went well; otherwise the status is 1
};
DatabaseOutcome run_database_command(const DatabaseOptions& options);

}  // namespace tiderace::server
