// The command line of the program `tiderace-load`, which a person reaches as `tiderace load`.
//
// Thread   Before any other: main only.
// Errors   As server/command_line/command_line.h: never prints and never exits.
#pragma once

#include <expected>
#include <span>
#include <string_view>
#include <variant>

#include "load/options.h"
#include "server/command_line/command_line.h"

namespace tiderace::server {

using LoadCommand = std::variant<Printout, load::LoadOptions>;

// `words` are the arguments after the program's name.
std::expected<LoadCommand, CliFailure> parse_load_command_line(
    std::span<const std::string_view> words);

}  // namespace tiderace::server
