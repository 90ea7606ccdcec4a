// Charts as SVG, drawn for a column of 352 pixels, so that a phone shows them in their own size.
// Colours are classes, which the page's style gives a meaning in light and in dark.
//
// Thread   Any: pure functions.
// Limits   Text is measured by its length: an average letter is taken as 6.2 pixels of 12.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/report/scale.h"

namespace tiderace::lab::report {

inline constexpr double chart_width = 352;

enum class Tone : std::uint8_t { engine, chosen, opponent, floor };

struct Bar {
    std::string name;
    Tone tone = Tone::engine;
    bool has_value = false;
    double value = 0;
    double least = 0;  // of the rounds
    double most = 0;
    bool is_marked = false;  // measured under another load than planned: drawn hollow
    std::string figure;      // at its end; without a value: in its place
    std::string beside;      // after that, quieter
};

struct BarChart {
    std::string label;      // for screen readers
    std::vector<Bar> bars;  // from above
    double line = 0;        // the floor; 0: none
    std::string line_name;
};

// A bar longer than `cut_at_lines` times the line ends there, with a mark.
inline constexpr double cut_at_lines = 6;
std::string draw(const BarChart& chart);

struct Point {
    double x = 0;
    double y = 0;
};

struct Line {
    std::string name;
    unsigned colour = 0;     // 0..5; above: the quiet one, for a reference
    bool is_dashed = false;  // where one colour is there twice
    bool is_floor = false;   // of the references, the dotted one
    std::vector<Point> points;
};

struct LineChart {
    std::string label;
    ScaleKind x_kind = ScaleKind::logarithmic;
    ScaleKind y_kind = ScaleKind::logarithmic;
    std::vector<std::pair<double, std::string>> x_ticks;
    std::string x_name;
    std::string (*y_text)(double) = nullptr;
    double y_least = 0;  // of all charts that stand side by side
    double y_most = 0;
    std::vector<Line> lines;
};

inline constexpr unsigned colours = 6;
std::string draw(const LineChart& chart);

// Where labels of `height` go that want to be at `wanted`: as near as they can without covering
// each other, between `top` and `bottom` where there is room. In the order of `wanted`.
std::vector<double> spread_labels(const std::vector<double>& wanted, double height, double top,
                                  double bottom);

}  // namespace tiderace::lab::report
