// The help pages, rendered from the tables of flags.h, at most 80 columns wide.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/command_line/flags.h"

namespace tiderace::server {

// `tiderace help`: the commands and a few examples.
std::string program_help();
// `tiderace help serve`: every flag of a command, in groups.
std::string command_help(const CommandSpec& command);

// "-l, --listen ADDR", "    --spa[=FILE]"; without the room for a letter when `align` is false.
std::string flag_usage(const FlagHelp& flag, bool align);
// "about: choices; repeatable (default 10s)", as far as each applies.
std::string flag_description(const FlagHelp& flag);
// Breaks `text` at spaces into lines of at most `width`, each after the first beginning with
// `indent` spaces. A word longer than that stays whole.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

// The heading of a group of flags.
std::string_view group_title(Group group);
// The commands of a program that has several, a line each.
std::string command_list(std::span<const CommandSpec> commands);

}  // namespace tiderace::server
