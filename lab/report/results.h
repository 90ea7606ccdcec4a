// Results: everything that one `tiderace lab run` found out, as plain data. results_json.h writes
// and reads it, by the names of these members and enumerators: a new name makes old files
// unreadable. Every figure of the report comes from here.
//
// Thread   Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/enum_names.h"

namespace tiderace::lab::report {

// The outcome of a cell.
enum class CellState : std::uint8_t {
    ok,       // all was answered, and rightly
    refused,  // it held fewer connections than planned; its figures are of those it held
    starved,  // it held them, and left many without any answer
    skipped,  // not run: `reason` has the cause
    wrong,    // at least one answer was not the right one
    failed,   // at least one request got no answer: reset, cut short, too late
    hung,     // it answered nothing at all, and still ran
    died,     // its process ended
};
constexpr std::string_view to_string(CellState state) {
    return enum_name(state);
}
// It did its work well enough for its figures to stand beside others; `refused` and `starved` with
// a mark.
constexpr bool has_figures(CellState state) {
    return state == CellState::ok || state == CellState::refused || state == CellState::starved;
}

// A share of the answers, and how many microseconds they took at most: {0.99, 400}.
using LatencyPoint = std::array<double, 2>;

// One server under one load, once.
struct Cell {
    std::string subject;
    std::string workload;
    std::uint64_t connections = 0;  // requested, once scaled to the machine's limits
    std::uint64_t round = 1;
    CellState state = CellState::ok;
    std::string reason;  // a sentence; "" when ok

    double seconds = 0;  // measured, once all connections were open
    std::uint64_t answers = 0;
    double per_second = 0;
    double cpu_us = 0;               // of the server, for each answer
    double cpu_share = 0;            // of one CPU, by the server
    double load_share = 0;           // of one CPU, by the busiest loop of the load
    std::uint64_t memory_bytes = 0;  // the most seen: proportional set size, all its processes
    std::uint64_t memory_before_bytes = 0;  // before the load came
    std::uint64_t opened = 0;
    std::uint64_t open_max = 0;  // at one time; LoadTally's
    std::uint64_t starved = 0;   // connections that got no answer
    double opened_per_second = 0;
    std::map<std::string, std::uint64_t> errors;  // only what happened
    std::vector<LatencyPoint> latency_us;
    std::vector<LatencyPoint> slow_latency_us;  // of slow readers
    std::vector<std::string> notes;

    bool operator==(const Cell&) const = default;
};

enum class SubjectKind : std::uint8_t { engine, opponent, floor };

// One server of the run.
struct Subject {
    std::string name;
    SubjectKind kind = SubjectKind::engine;
    std::string what;  // in three sentences
    std::string version;
    std::string command;  // as it was started, last
    std::string absent;   // why it did not run; "" when it did

    bool operator==(const Subject&) const = default;
};

struct Workload {
    std::string name;
    std::string about;
    std::string measure = "cpu_us";  // what its bars are; or "connection_bytes"
    std::string load;                // the same as a command for another shell
    std::vector<std::uint64_t> connections;
    std::string absent;  // why it did not run

    bool operator==(const Workload&) const = default;
};

struct Machine {
    std::string cpu;
    std::uint64_t cpus = 0;
    std::string kernel;
    std::uint64_t memory_bytes = 0;
    std::string governor;  // "" where it cannot be read
    std::uint64_t descriptors_max = 0;

    bool operator==(const Machine&) const = default;
};

struct Pinning {
    std::vector<std::uint64_t> server_cpus;  // empty: anywhere
    std::vector<std::uint64_t> load_cpus;

    bool operator==(const Pinning&) const = default;
};

inline constexpr std::string_view results_format = "tiderace-lab-results";
inline constexpr std::uint64_t results_format_version = 1;

struct Results {
    std::string format = std::string(results_format);
    std::uint64_t format_version = results_format_version;
    std::string date;     // 2026-11-21T09:30:00Z
    std::string version;  // of the program, with its commit
    std::string build;    // compiler and kind
    std::string command;  // this run's words
    Machine machine;
    Pinning pinning;
    bool quick = false;
    bool interrupted = false;
    std::uint64_t rounds = 0;
    double seconds = 0;       // of load for each cell, at most
    double took_seconds = 0;  // all of it
    std::vector<std::string> notes;
    std::vector<Subject> subjects;
    std::vector<Workload> workloads;
    std::vector<Cell> cells;

    bool operator==(const Results&) const = default;
};

}  // namespace tiderace::lab::report
