// The common part of the lab's own opponents (evhttp, asio-http, floor) as programs: their command
// line, their listeners, and how they end.
//
//   tiderace-lab-NAME SERVED [--listen ADDRESS] [--threads N] [switches] | --version
//
// Prints the port that it listens at, as a line on standard output. Ends on SIGTERM and SIGINT,
// with status 0.
//
// Thread   main's; run_program() starts the others and waits for them.
// Errors   One line on standard error, and the exit status: 1 what is served or a listener cannot
//          be opened, or a thread cannot be started, 2 the command line is wrong.
// Limits   threads_max.
#pragma once

#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/core/address.h"
#include "tiderace/core/kernel.h"

namespace tiderace::lab::opponent {

struct ProgramOptions {
    std::string served;  // a folder, for the floor a file
    core::Address listen = core::Address::loopback(0);
    unsigned threads = 1;
    std::vector<std::string> switches;  // those given

    bool has(std::string_view name) const;
};

struct Program {
    std::string_view name;
    std::string_view served;  // DIR or FILE, for the usage
    std::string_view version;
    std::span<const std::string_view> switches;  // those it knows, "--keep-alive"
};

inline constexpr unsigned threads_max = 256;

std::expected<ProgramOptions, std::string> parse_words(const Program& program,
                                                       std::span<char* const> words);

// Adds threads that run `work`. The threads that were started before the system refused one also
// run it: the caller ends them.
Result<> start_threads(std::vector<std::thread>& threads, unsigned count,
                       const std::function<void(unsigned)>& work);

// One thread of the server. It ends soon after `stop` has become readable. An error ends all.
using Work = std::function<Result<>(core::Descriptor listener, int stop)>;

// Opens `listeners` sockets on one address and runs one `work` for each, on a thread of its own.
// Returns the exit status. `prepare` returns an error if there is nothing valid to serve.
int run_program(const Program& program, std::span<char* const> words,
                const std::function<Result<>(const ProgramOptions&)>& prepare,
                const std::function<unsigned(const ProgramOptions&)>& listeners, const Work& work);

}  // namespace tiderace::lab::opponent
