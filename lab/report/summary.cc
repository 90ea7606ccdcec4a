#include "lab/report/summary.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tiderace::lab::report {
namespace {

template <typename Part>
Spread spread_over(const std::vector<const Cell*>& rounds, Part part) {
    std::vector<double> values;
    for (const Cell* round : rounds) values.push_back(static_cast<double>(round->*part));
    return spread_of(std::move(values));
}

std::vector<LatencyPoint> median_curve(const std::vector<const Cell*>& rounds,
                                       std::vector<LatencyPoint> Cell::* part) {
    // By share and not by position: a round with few answers may have other points.
    std::map<double, std::vector<double>> by_share;
    for (const Cell* round : rounds) {
        for (const auto& [share, us] : round->*part) by_share[share].push_back(us);
    }
    std::vector<LatencyPoint> curve;
    for (auto& [share, values] : by_share) {
        curve.push_back({share, spread_of(std::move(values)).median});
    }
    return curve;
}

// `died` is worse than `hung`, … than `ok`, and of two the one that left more without an answer;
// only where all were skipped was it skipped.
bool is_worse(const Cell& one, const Cell& than) {
    // By the order of CellState, in which `skipped` stands before what went wrong, but is no
    // result.
    const auto badness = [](const Cell& cell) {
        return std::pair(cell.state == CellState::skipped ? -1 : static_cast<int>(cell.state),
                         cell.starved);
    };
    return badness(one) > badness(than);
}

std::uint64_t held_by(const Cell& cell) {
    return std::min(cell.open_max, cell.connections - std::min(cell.connections, cell.starved));
}

// Divided by the connections it held: a refused one was open for a moment only. Where one in a
// hundred or fewer was held, this is the memory of refusing.
Spread connection_bytes(const std::vector<const Cell*>& rounds) {
    std::vector<double> values;
    for (const Cell* round : rounds) {
        const std::uint64_t held = held_by(*round);
        if (held * 100 <= round->connections) return {};
        const double more = static_cast<double>(round->memory_bytes) -
                            static_cast<double>(round->memory_before_bytes);
        values.push_back(std::max(0.0, more) / static_cast<double>(held));
    }
    return spread_of(std::move(values));
}

CellSummary summarize_one(const std::vector<const Cell*>& rounds) {
    const Cell* worst = rounds[0];
    std::vector<const Cell*> good;
    for (const Cell* round : rounds) {
        if (is_worse(*round, *worst)) worst = round;
        // Figures come from the good rounds, and the state from the worst one: a server that failed
        // once in three has failed.
        if (has_figures(round->state)) good.push_back(round);
    }
    CellSummary sum{.subject = worst->subject,
                    .workload = worst->workload,
                    .connections = worst->connections,
                    .state = worst->state,
                    .reason = worst->reason,
                    .open_max = static_cast<double>(worst->open_max),
                    .starved = static_cast<double>(worst->starved)};
    sum.rounds = good.size();
    sum.cpu_us = spread_over(good, &Cell::cpu_us);
    sum.per_second = spread_over(good, &Cell::per_second);
    sum.opened_per_second = spread_over(good, &Cell::opened_per_second);
    sum.memory_bytes = spread_over(good, &Cell::memory_bytes).median;
    sum.memory_before_bytes = spread_over(good, &Cell::memory_before_bytes).median;
    sum.connection_bytes = connection_bytes(good);
    sum.load_share = spread_over(good, &Cell::load_share).median;
    sum.latency = median_curve(good, &Cell::latency_us);
    sum.slow_latency = median_curve(good, &Cell::slow_latency_us);
    return sum;
}

}  // namespace

// The median and the ends, and no mean: a round in which the machine did something else would move
// the mean of three by a third of that, and moves the median to the next round at most.
Spread spread_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    const double median =
        values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    return {median, values.front(), values.back()};
}

std::vector<CellSummary> summarize(const Results& results) {
    std::vector<CellSummary> all;
    for (const Workload& workload : results.workloads) {
        for (const Subject& subject : results.subjects) {
            std::map<std::uint64_t, std::vector<const Cell*>> by_connections;
            for (const Cell& cell : results.cells) {
                if (cell.workload == workload.name && cell.subject == subject.name) {
                    by_connections[cell.connections].push_back(&cell);
                }
            }
            for (const auto& [_, rounds] : by_connections) all.push_back(summarize_one(rounds));
        }
    }
    return all;
}

const CellSummary* find(const std::vector<CellSummary>& all, std::string_view subject,
                        std::string_view workload, std::uint64_t connections) {
    const auto found = std::ranges::find_if(all, [&](const CellSummary& one) {
        return one.subject == subject && one.workload == workload && one.connections == connections;
    });
    return found == all.end() ? nullptr : &*found;
}

const CellSummary* floor_cell(const std::vector<CellSummary>& all, std::string_view floor,
                              std::string_view workload, std::uint64_t connections) {
    const CellSummary* least = nullptr;
    if (floor.empty()) return least;
    for (const CellSummary& one : all) {
        const bool is_floor =
            // Also its variants ("floor-sendfile"): the floor of a workload is the cheapest of
            // them.
            one.subject == floor || one.subject.starts_with(std::string(floor) + "-");
        if (!is_floor || one.workload != workload || one.connections != connections) continue;
        // A floor that did not do its work is none.
        if (one.state != CellState::ok || one.cpu_us.median <= 0) continue;
        if (least == nullptr || one.cpu_us.median < least->cpu_us.median) least = &one;
    }
    return least;
}

std::optional<double> ratio_to(const std::vector<CellSummary>& all, const CellSummary& one,
                               std::string_view floor) {
    const CellSummary* base = floor_cell(all, floor, one.workload, one.connections);
    if (base == nullptr || !one.has_figures() || one.cpu_us.median <= 0) return std::nullopt;
    return one.cpu_us.median / base->cpu_us.median;
}

std::string floor_of(const Results& results) {
    const auto found = std::ranges::find(results.subjects, SubjectKind::floor, &Subject::kind);
    return found == results.subjects.end() ? std::string() : found->name;
}

double latency_at(const std::vector<LatencyPoint>& curve, double share) {
    // The next point that the curve has, and not one between two: it errs to the slower side.
    for (const auto& [answered, us] : curve) {
        if (answered >= share) return us;
    }
    return curve.empty() ? 0 : curve.back()[1];
}

}  // namespace tiderace::lab::report
