// Pictures: the charts of a run's figures, and the text beside them.
//
// Thread   Any: pure functions.
#pragma once

#include <string>
#include <vector>

#include "lab/report/results.h"
#include "lab/report/summary.h"

namespace tiderace::lab::report {

struct Picture {
    std::string heading;
    std::string caption;
    std::string svg;
};

inline constexpr std::string_view chosen_engine = "epoll";  // the default: the reference

// The findings of a run, collected once for all pages.
struct Findings {
    Results results;
    std::vector<CellSummary> cells;
    std::string floor;  // the subject that is the floor, or ""

    explicit Findings(Results from)
        : results(std::move(from)), cells(summarize(results)), floor(floor_of(results)) {}
};

// One for each workload and number of connections: bars, least first, with the floor as a line.
std::vector<Picture> cost_pictures(const Findings& findings);
// One for each family of engines.
std::vector<Picture> latency_pictures(const Findings& findings, std::string_view workload);
std::vector<Picture> throughput_pictures(const Findings& findings);
std::vector<Picture> memory_pictures(const Findings& findings);

// "8.21", "924 B": what a cell is about; "" where it has no figures.
std::string figure_of(const Findings& findings, const CellSummary& cell);
// The remark beside the figure: "×1.60", "held 1,012", "died".
std::string beside_of(const Findings& findings, const CellSummary& cell);
std::string state_of(const CellSummary& cell);  // "" when ok
// "w2, 10,000 connections".
std::string heading_of(std::string_view workload, std::uint64_t connections);

// The workloads whose cells are one series over the number of connections.
bool is_series(std::string_view workload);

}  // namespace tiderace::lab::report
