// Summary: the rounds of each cell brought together: medians, spread, and ratios to the floor.
//
// Thread   Any: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/report/results.h"

namespace tiderace::lab::report {

// The median over the rounds (the mean of the two middle ones), and both extremes.
struct Spread {
    double median = 0;
    double least = 0;
    double most = 0;
    bool operator==(const Spread&) const = default;
};
// Zeros for no values.
Spread spread_of(std::vector<double> values);

struct CellSummary {
    std::string subject;
    std::string workload;
    std::uint64_t connections = 0;
    std::uint64_t rounds = 0;         // that have figures
    CellState state = CellState::ok;  // of the worst of its rounds
    std::string reason;               // that round's, as are these two
    double open_max = 0;
    double starved = 0;
    Spread cpu_us;
    Spread per_second;
    Spread opened_per_second;
    Spread connection_bytes;  // what a held connection costs in memory; 0: too few were
    double memory_bytes = 0;  // medians, as all below
    double memory_before_bytes = 0;
    double load_share = 0;
    std::vector<LatencyPoint> latency;
    std::vector<LatencyPoint> slow_latency;

    bool has_figures() const { return rounds > 0 && report::has_figures(state); }
    // Connections that were open and got an answer.
    double held() const {
        return std::max(0.0, std::min(open_max, static_cast<double>(connections) - starved));
    }
    // The one figure that the workload is about.
    Spread measured(std::string_view measure) const {
        return measure == "connection_bytes" ? connection_bytes : cpu_us;
    }
};

// In the order of the results' subjects, for each workload and number of connections.
std::vector<CellSummary> summarize(const Results& results);

const CellSummary* find(const std::vector<CellSummary>& all, std::string_view subject,
                        std::string_view workload, std::uint64_t connections);
// The floor sends from memory or by sendfile, as subjects of their own (`floor`, `floor-…`): the
// cheaper of them that did its work there, or nullptr.
const CellSummary* floor_cell(const std::vector<CellSummary>& all, std::string_view floor,
                              std::string_view workload, std::uint64_t connections);
// CPU for each answer relative to the floor in the same cell; none where either is missing.
std::optional<double> ratio_to(const std::vector<CellSummary>& all, const CellSummary& one,
                               std::string_view floor);
// The subject that is the floor of this run, or "".
std::string floor_of(const Results& results);
// The point of a curve that is nearest to the share from above; 0 for an empty one.
double latency_at(const std::vector<LatencyPoint>& curve, double share);

}  // namespace tiderace::lab::report
