// Opponent: another web server, as the lab starts it beside ours: with a minimal config, tuned as
// its makers advise, and nothing that the others do not do either (no access log, no compression).
//
//   opponents() -> why_absent() -> start_opponent() -> a ServerProcess that has answered once
//
// Owner    The table is constant; a started one is its starter's.
// Thread   One that stays: it starts children (core/child_process.h).
// Errors   Not installed: why_absent() explains it in one line. Does not start: a Result with its
//          last output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/server_process.h"
#include "tiderace/base/result.h"

namespace tiderace::lab {

// The folder and the load that an opponent has to serve. The folder must be world-readable: started
// by root, some give that up.
struct OpponentPlan {
    std::string folder;          // that it serves
    std::string path = "/";      // "/1k.html": the first request's, and the one whose file those
                                 // that have one fixed answer give
    unsigned workers = 1;        // threads or processes, as it is made
    std::vector<unsigned> cpus;  // it runs on these only; empty: anywhere
    std::size_t connections_max = 20'000;  // it makes room for so many at once
    std::size_t connections = 100;         // that will send at once: for servers with a thread each
    bool closes = false;  // a connection a request: for servers that ignore "Connection: close"
    Wait wait = {};       // ServerLaunch's
};

// A start of it: what its command line and its config are made of.
struct OpponentStart {
    const std::string& program;
    const OpponentPlan& plan;
    const core::Address& address;
};

struct Opponent {
    std::string_view name;
    std::string_view what;     // three sentences
    bool serves_files = true;  // false: one fixed answer
    std::uint64_t answer_bytes_max = UINT64_MAX;
    // Names of its program; the first one found is started. Ours lie beside our own program.
    std::span<const std::string_view> programs;
    std::span<const std::string_view> version_words;  // after the program
    ServerLaunch (*launch)(const OpponentStart& start);
};

std::span<const Opponent> opponents();
const Opponent* find_opponent(std::string_view name);
// One line: that it is not installed, or was not built, and what to do.
std::optional<std::string> why_absent(const Opponent& opponent);
// The first line of its version output; "" where it is absent or prints nothing.
std::string opponent_version(const Opponent& opponent);
// At an address of the kernel's choice.
Result<ServerProcess> start_opponent(const Opponent& opponent, const OpponentPlan& plan);
// Its command line and config, as they would be: for a report. Empty where it is absent.
std::string describe_launch(const Opponent& opponent, const OpponentPlan& plan);

// The file for the URL path `path`, relative to the folder: index.html for "/".
std::string file_of(std::string_view path);

// Where a program of that name is: in the folder of the one that runs, or as find_program() looks.
std::optional<std::string> find_own_program(std::string_view name);

}  // namespace tiderace::lab
