// The command line: words in, one command out, or one sentence that names the fault.
//
// Thread   Before any other: main only.
// Errors   Never prints and never exits; CliFailure holds what to print and the status to end with.
// Memory   Whatever parsing needed is freed before it returns.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/command_line/command_words.h"
#include "server/options.h"

namespace tiderace::server {

// A text to print on standard output: help, version, man page, completions.
struct Printout {
    std::string text;
    bool tells_of_tls = false;  // left to the program that has it (other_program.h)
};

// The files of a service (new_project.h).
struct NewProject {
    std::string folder;
};

// How to trust the certificate of --tls-self-signed (trust.h).
struct ShowTrust {};

// The sites of a configuration file (config/config.h): served, or only checked.
struct RunFile {
    std::string file;
    bool only_check = false;
};

// Another command about configuration files, or a server that runs (config/tools.h).
struct FileTool {
    std::string_view name;
    CommandWords words;
};

// Another program does it (other_program.h).
struct ToProgram {
    std::string_view name;
    std::vector<std::string_view> words;
};

using Command =
    std::variant<ServeOptions, RunFile, FileTool, Printout, NewProject, ShowTrust, ToProgram>;

struct CliFailure {
    std::string sentence;  // one line, no final stop, without the program's name
    int exit_status = 2;
};
inline std::unexpected<CliFailure> refuse(std::string sentence) {
    return std::unexpected(CliFailure{std::move(sentence)});
}

// `words` are the arguments after the program's name.
std::expected<Command, CliFailure> parse_command_line(std::span<const std::string_view> words);

// The parts of it that a program with commands of its own uses.
std::expected<ServeOptions, CliFailure> parse_serve(const CommandWords& words,
                                                    std::span<const ServeFlag> flags);
std::string unknown_command(std::string_view word, std::span<const CommandSpec> commands);

}  // namespace tiderace::server
