// The commands of the program `tiderace-lab`, which a person reaches as `tiderace lab`. The same
// tables and the same command-line code as the program that serves; `serve` has the same flags,
// with more engines.
//
// Thread   Before any other: main only.
// Errors   As server/command_line/command_line.h: never prints and never exits.
#pragma once

#include <expected>
#include <span>
#include <string_view>
#include <variant>

#include "lab/report/report.h"
#include "lab/run/run_options.h"
#include "server/command_line/command_line.h"
#include "server/command_line/flags.h"

namespace tiderace::server {

using LabCommand =
    std::variant<ServeOptions, Printout, lab::run::RunOptions, lab::report::ReportOptions>;

std::span<const CommandSpec> lab_commands();
// `words` are the arguments after the program's name.
std::expected<LabCommand, CliFailure> parse_lab_command_line(
    std::span<const std::string_view> words);

// The output of `tiderace lab engines`.
std::string engine_list();

}  // namespace tiderace::server
