// A small run for the tests of this room: names from a hostile hand, every state once.
#pragma once

#include <string>
#include <utility>

#include "lab/report/results.h"

namespace tiderace::lab::report {

inline constexpr const char* hostile = "<b>\"x\"|`&'</b>";

inline Cell sample_cell(std::string subject, std::string workload, std::uint64_t connections,
                        double cpu_us, std::uint64_t round = 1) {
    return {.subject = std::move(subject),
            .workload = std::move(workload),
            .connections = connections,
            .round = round,
            .seconds = 1,
            .answers = 100'000,
            .per_second = 100'000,
            .cpu_us = cpu_us,
            .cpu_share = 0.8,
            .load_share = 0.9,
            .memory_bytes = 5'000'000,
            .memory_before_bytes = 4'000'000,
            .opened = connections,
            .open_max = connections,
            .opened_per_second = 1000,
            .latency_us = {{0.5, 100}, {0.9, 150}, {0.99, 400}, {0.999, 2000}, {1, 5000}}};
}

inline Cell failed_cell(std::string subject, std::string workload, std::uint64_t connections,
                        CellState state, std::string reason) {
    Cell cell = sample_cell(std::move(subject), std::move(workload), connections, 0);
    cell.state = state;
    cell.reason = std::move(reason);
    return cell;
}

inline Results sample_results() {
    Results results;
    results.date = "2026-11-21T10:00:00Z";
    results.version = "0.1.0 (abcdef0)";
    results.build = "g++ 12, Release";
    results.command = "tiderace lab run --quick";
    results.machine = {.cpu = "A processor",
                       .cpus = 2,
                       .kernel = "Linux 6.1",
                       .memory_bytes = 8'000'000'000,
                       .governor = "performance",
                       .descriptors_max = 20'000};
    results.pinning = {.server_cpus = {0}, .load_cpus = {1}};
    results.quick = true;
    results.rounds = 3;
    results.seconds = 1.5;
    results.took_seconds = 170;
    results.notes = {"a note with <i>markup</i>"};
    results.subjects = {
        {.name = "epoll", .what = "What epoll is.", .version = "0.1.0", .command = "serve"},
        {.name = "select"},
        {.name = "pool"},
        {.name = hostile},
        {.name = "nginx", .kind = SubjectKind::opponent, .version = "1.22.1"},
        {.name = "caddy", .kind = SubjectKind::opponent, .absent = "not installed"},
        {.name = "floor", .kind = SubjectKind::floor}};
    results.workloads = {
        {.name = "w1",
         .about = "a 40-byte answer",
         .measure = "cpu_us",
         .load = "tiderace load",
         .connections = {10'000}},
        {.name = "scale", .about = "the same", .measure = "cpu_us", .connections = {1, 100}},
        {.name = "idle",
         .about = "idle connections",
         .measure = "connection_bytes",
         .connections = {1'000}},
        {.name = "w3", .about = "a page", .measure = "cpu_us", .absent = "not there yet"}};
    std::uint64_t round = 1;
    for (const double cpu : {5.0, 6.0, 8.0}) {
        results.cells.push_back(sample_cell("epoll", "w1", 10'000, cpu, round++));
    }
    results.cells.push_back(sample_cell("floor", "w1", 10'000, 4));
    results.cells.push_back(sample_cell("nginx", "w1", 10'000, 9));
    results.cells.push_back(sample_cell("select", "w1", 10'000, 12));
    results.cells.back().state = CellState::refused;
    results.cells.back().reason = "it held 1,012 of 10,000 connections";
    results.cells.back().open_max = 1'012;
    results.cells.push_back(failed_cell("pool", "w1", 10'000, CellState::hung, "no answer"));
    results.cells.push_back(failed_cell(hostile, "w1", 10'000, CellState::wrong, hostile));
    for (const std::uint64_t connections : {std::uint64_t{1}, std::uint64_t{100}}) {
        results.cells.push_back(sample_cell("epoll", "scale", connections, 5));
        results.cells.push_back(sample_cell("pool", "scale", connections, 7));
    }
    results.cells.push_back(sample_cell("epoll", "idle", 1'000, 5));
    return results;
}

}  // namespace tiderace::lab::report
