// The command line: words in, one command out, or one sentence that says what is wrong.
//
// Thread   Before any other: main only.
// Errors   Never prints and never exits; CliFailure holds what to print and the status to end with.
// Memory   Whatever parsing needed is freed before it returns.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "lab/load_options.h"
#include "server/options.h"

namespace tiderace::server {

// A text to print on standard output: help, version, man page, completions.
struct Printout {
    std::string text;
};

// How to trust the certificate of --tls-self-signed (trust.h).
struct ShowTrust {};

using Command = std::variant<ServeOptions, Printout, ShowTrust, lab::LoadOptions>;

struct CliFailure {
    std::string sentence;  // one line, no final stop, without the program's name
    int exit_status = 2;
};

// `words` are the arguments after the program's name.
std::expected<Command, CliFailure> parse_command_line(std::span<const std::string_view> words);

}  // namespace tiderace::server
