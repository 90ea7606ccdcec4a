// LoadReport: the result of a run, for a person (a table) and for a program (JSON).
//
// Thread   Any: pure functions.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "load/options.h"
#include "load/server_watch.h"
#include "load/tally.h"

namespace tiderace::load {

struct LoadReport {
    LoadOptions options;
    LoadTally tally;
    std::string engine;
    std::size_t processes = 1;
    std::size_t threads = 1;           // of all processes
    std::size_t source_addresses = 0;  // 0: the kernel's choice
    Duration elapsed = Duration::zero();
    Duration own_cpu = Duration::zero();
    double busiest_loop = 0;    // its CPU time by the time elapsed, 0..1
    std::uint64_t resumed = 0;  // TLS handshakes that were short
    std::uint64_t lost = 0;     // processes of the load that died: their figures are missing
    bool interrupted = false;   // by Ctrl-C
    // Why not one connection was opened, or not one request answered, where that has one cause;
    // also in the notes.
    std::string cause;
    std::optional<ServerUse> server;  // its use during the run; memory: the most seen
    // The part of the run before `server` began to count: its answers and its time.
    std::uint64_t answers_before_server = 0;
    Duration elapsed_before_server = Duration::zero();
    std::vector<std::string> notes;  // what was found before the run
};

// Above this a loop had hardly any time left, and it is the load that was measured.
inline constexpr double busy_share = 0.9;

inline constexpr std::array<std::pair<const char*, double>, 6> load_quantiles{
    {{"p50", 0.5}, {"p75", 0.75}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1.0}}};

// The answers, and the time, of which `server` is the use.
std::uint64_t server_answers(const LoadReport& report);
Duration server_time(const LoadReport& report);
// Everything was answered, and rightly.
bool all_right(const LoadReport& report);
// Notes for the reader of the figures: a sentence each.
std::vector<std::string> warnings(const LoadReport& report);
std::string load_table(const LoadReport& report);
// One line, as docs/load.md has it (json.cc).
std::string load_json(const LoadReport& report);

}  // namespace tiderace::load
