#include "lab/report/pictures.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "lab/report/charts.h"
#include "lab/report/portraits.h"
#include "load/figures.h"

namespace tiderace::lab::report {
namespace {

// Four tones for thirty servers: the eye looks for the default, for its kin, and for the others.
Tone tone_of(const Results& results, std::string_view subject) {
    const auto found = std::ranges::find(results.subjects, subject, &Subject::name);
    if (found == results.subjects.end()) return Tone::opponent;
    if (found->kind == SubjectKind::floor) return Tone::floor;
    if (found->kind == SubjectKind::opponent) return Tone::opponent;
    return subject == chosen_engine ? Tone::chosen : Tone::engine;
}

std::string measure_of(const Results& results, std::string_view workload) {
    const auto found = std::ranges::find(results.workloads, workload, &Workload::name);
    return found == results.workloads.end() ? std::string("cpu_us") : found->measure;
}

std::string measured_text(std::string_view measure, double value) {
    return measure == "connection_bytes" ? load::bytes(value) : load::short_number(value);
}

// The cells of one chart.
BarChart bars_of(const Findings& findings, const std::vector<const CellSummary*>& cells,
                 std::string_view measure) {
    BarChart chart;
    const bool is_memory = measure == "connection_bytes";
    const CellSummary* floor =
        cells.empty() ? nullptr
                      : floor_cell(findings.cells, findings.floor, cells.front()->workload,
                                   cells.front()->connections);
    for (const CellSummary* cell : cells) {
        const Spread spread = cell->measured(measure);
        Bar bar{.name = cell->subject,
                .tone = tone_of(findings.results, cell->subject),
                .has_value = cell->has_figures() && (!is_memory || spread.median > 0),
                .value = spread.median,
                .least = spread.least,
                .most = spread.most,
                .is_marked = cell->state != CellState::ok,
                .figure = figure_of(findings, *cell),
                .beside = beside_of(findings, *cell)};
        // Without a value the state takes the figure's place, as draw_bar() prints nothing else.
        if (!bar.has_value) std::swap(bar.figure, bar.beside);
        if (cell == floor) {
            chart.line = spread.median;
            chart.line_name = cell->subject + " " + measured_text(measure, spread.median);
        }
        chart.bars.push_back(std::move(bar));
    }
    // The cheapest first, those without a figure last. The name decides between equal ones, so that
    // a report that is made again is the same text.
    std::ranges::sort(chart.bars, {}, [](const Bar& bar) {
        return std::tuple(!bar.has_value, bar.value, bar.name);
    });
    // The floor is the line; its bar would repeat it. Memory has no floor worth a line.
    if (is_memory) {
        chart.line = 0;
    } else if (chart.line > 0) {
        std::erase_if(chart.bars, [&](const Bar& bar) { return bar.name == floor->subject; });
    }
    return chart;
}

// ---- lines --------------------------------------------------------------------------------------

using PointOf = std::vector<Point> (*)(const Findings&, std::string_view subject,
                                       std::string_view workload);

std::vector<Point> latency_points(const Findings& findings, std::string_view subject,
                                  std::string_view workload) {
    const auto found = std::ranges::find_if(findings.cells, [&](const CellSummary& cell) {
        return cell.subject == subject && cell.workload == workload && cell.has_figures();
    });
    std::vector<Point> points;
    if (found == findings.cells.end()) return points;
    for (const auto& [share, us] : found->latency) {
        // 1 - share on a logarithm: 90 %, 99 %, 99.9 % stand at equal distances.
        // The last point, of all answers, would be at infinity.
        if (share <= 0.999 && us > 0) points.push_back({1 / (1 - share), us});
    }
    return points;
}

template <typename Value>
std::vector<Point> series(const Findings& findings, std::string_view subject, Value value) {
    std::vector<Point> points;
    for (const CellSummary& cell : findings.cells) {
        if (cell.subject != subject || !is_series(cell.workload) || !cell.has_figures()) continue;
        // A point of a line is at its number of connections: one that held fewer would stand at the
        // wrong place.
        if (cell.state != CellState::ok) continue;
        const double y = value(cell);
        if (y > 0) points.push_back({static_cast<double>(cell.connections), y});
    }
    std::ranges::sort(points, {}, &Point::x);
    // Both workloads of a series may have the same number; a line has one point there.
    const auto same = std::ranges::unique(points, {}, &Point::x);
    points.erase(same.begin(), same.end());
    return points;
}

std::vector<Point> throughput_points(const Findings& findings, std::string_view subject,
                                     std::string_view) {
    return series(findings, subject,
                  [](const CellSummary& cell) { return cell.per_second.median; });
}

std::vector<Point> memory_points(const Findings& findings, std::string_view subject,
                                 std::string_view) {
    return series(findings, subject, [](const CellSummary& cell) { return cell.memory_bytes; });
}

// All families on the same axes, so that one can look from one to the next.
std::vector<Picture> family_pictures(const Findings& findings, LineChart frame, PointOf points_of,
                                     std::string_view workload, std::string_view what) {
    std::vector<std::pair<std::string, std::vector<Point>>> all;
    for (const Subject& subject : findings.results.subjects) {
        std::vector<Point> points = points_of(findings, subject.name, workload);
        if (!points.empty()) all.emplace_back(subject.name, std::move(points));
    }
    double least = HUGE_VAL, most = 0;  // of all families
    for (const auto& [_, points] : all) {
        for (const Point& point : points) {
            least = std::min(least, point.y);
            most = std::max(most, point.y);
        }
    }
    std::vector<Picture> pictures;
    if (all.empty()) return pictures;
    frame.y_least = round_down(least);
    frame.y_most = round_up(most);
    for (std::size_t i = 0; i + 1 < families; ++i) {
        const auto family = static_cast<Family>(i);
        LineChart chart = frame;
        for (const auto& [name, points] : all) {
            const bool is_reference =
                // The default belongs to the kernel's engines, where it has a colour as they have.
                (name == chosen_engine && family != Family::kernel) || name == findings.floor;
            if (is_reference) {
                chart.lines.push_back({.name = name,
                                       .colour = colours,
                                       .is_floor = name == findings.floor,
                                       .points = points});
            }
        }
        const std::size_t references = chart.lines.size();
        for (const auto& [name, points] : all) {
            if (name == findings.floor || family_of(name) != family) continue;
            const auto colour = static_cast<unsigned>(chart.lines.size() - references);
            chart.lines.push_back({.name = name,
                                   .colour = colour % colours,
                                   .is_dashed = colour >= colours,
                                   .points = points});
        }
        // Only references: none of this family took part.
        if (chart.lines.size() == references) continue;
        chart.label = std::string(what) + ": " + std::string(title_of(family));
        pictures.push_back({std::string(title_of(family)), {}, draw(chart)});
    }
    return pictures;
}

std::vector<std::pair<double, std::string>> connection_ticks(const Findings& findings) {
    std::set<std::uint64_t> numbers;
    for (const CellSummary& cell : findings.cells) {
        if (is_series(cell.workload)) numbers.insert(cell.connections);
    }
    std::vector<std::pair<double, std::string>> ticks;
    for (const std::uint64_t number : numbers) {
        ticks.emplace_back(static_cast<double>(number), load::with_commas(number));
    }
    return ticks;
}

}  // namespace

bool is_series(std::string_view workload) {
    return workload == "scale" || workload == "w1";
}

std::string heading_of(std::string_view workload, std::uint64_t connections) {
    return std::string(workload) + ", " + load::with_commas(connections) +
           (connections == 1 ? " connection" : " connections");
}

std::string state_of(const CellSummary& cell) {
    switch (cell.state) {
        case CellState::ok:
            return {};
        case CellState::refused:
            return "held " + load::with_commas(static_cast<std::uint64_t>(cell.held()));
        case CellState::starved:
            return load::with_commas(static_cast<std::uint64_t>(cell.starved)) + " starved";
        default:
            return std::string(to_string(cell.state));
    }
}

std::string figure_of(const Findings& findings, const CellSummary& cell) {
    if (!cell.has_figures()) return {};
    const std::string measure = measure_of(findings.results, cell.workload);
    return measured_text(measure, cell.measured(measure).median);
}

std::string beside_of(const Findings& findings, const CellSummary& cell) {
    std::string state = state_of(cell);
    if (!state.empty()) return state;
    if (measure_of(findings.results, cell.workload) == "connection_bytes") return {};
    const auto ratio = ratio_to(findings.cells, cell, findings.floor);
    return ratio ? load::times(*ratio) : std::string();
}

std::vector<Picture> cost_pictures(const Findings& findings) {
    std::vector<Picture> pictures;
    for (const Workload& workload : findings.results.workloads) {
        // A series is read as a line: its bars would be four charts that differ in one number.
        if (workload.name == "scale") continue;
        std::set<std::uint64_t> numbers;
        for (const CellSummary& cell : findings.cells) {
            if (cell.workload == workload.name) numbers.insert(cell.connections);
        }
        for (const std::uint64_t number : numbers) {
            std::vector<const CellSummary*> cells;
            for (const CellSummary& cell : findings.cells) {
                if (cell.workload == workload.name && cell.connections == number) {
                    cells.push_back(&cell);
                }
            }
            BarChart chart = bars_of(findings, cells, workload.measure);
            const std::string heading = heading_of(workload.name, number);
            chart.label = heading + ": " + workload.about;
            pictures.push_back({heading, workload.about, draw(chart)});
        }
    }
    return pictures;
}

std::vector<Picture> latency_pictures(const Findings& findings, std::string_view workload) {
    LineChart frame;
    // Places are 1 / (1 - share), see latency_points().
    frame.x_ticks = {{2, "50 %"}, {10, "90"}, {100, "99"}, {1000, "99.9"}};
    frame.x_name = "share of the answers that took no longer";
    frame.y_text = load::micros;
    return family_pictures(findings, std::move(frame), latency_points, workload, "latency");
}

std::vector<Picture> throughput_pictures(const Findings& findings) {
    LineChart frame;
    frame.x_ticks = connection_ticks(findings);
    frame.x_name = "connections";
    frame.y_text = load::rate;
    return family_pictures(findings, std::move(frame), throughput_points, {}, "answers a second");
}

std::vector<Picture> memory_pictures(const Findings& findings) {
    LineChart frame;
    frame.x_ticks = connection_ticks(findings);
    frame.x_name = "connections";
    frame.y_text = load::bytes;
    return family_pictures(findings, std::move(frame), memory_points, {}, "memory");
}

}  // namespace tiderace::lab::report
