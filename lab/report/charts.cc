#include "lab/report/charts.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "lab/report/markup.h"
#include "load/figures.h"
#include "tiderace/base/utf8.h"

namespace tiderace::lab::report {
namespace {

// In units of the viewBox, which a browser scales to the column: texts are 11 to 12 of them high
// (page_style.h).
constexpr double row_height = 19;
constexpr double names_width = 104;   // the longest name, "evhttp-sendfile"
constexpr double letter_width = 6.2;  // about: the browser chooses the font

std::string begin_svg(double height, const std::string& label) {
    return load::printed("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", chart_width,
                         height) +
           escape_markup(label) + "\">\n";
}

// `place`: attributes.
std::string words(const std::string& place, std::string_view content) {
    return "<text " + place + ">" + escape_markup(content) + "</text>\n";
}

// In letters, not in bytes.
double width_of(std::string_view content) {
    return static_cast<double>(count_characters(content)) * letter_width;
}

constexpr std::array<const char*, 4> tones{"engine", "chosen", "opponent", "floor"};

std::string draw_bar(const Bar& bar, const Scale& scale, double y) {
    const double middle = y + row_height / 2;
    std::string out = words(load::printed("x=\"%g\" y=\"%g\" class=\"name%s\"", names_width - 8,
                                          middle + 4, bar.tone == Tone::chosen ? " strong" : ""),
                            bar.name);
    if (!bar.has_value) {
        return out + words(load::printed("x=\"%g\" y=\"%g\" class=\"quiet\"", names_width + 2,
                                         middle + 4),
                           bar.figure);
    }
    const double end = scale.place(bar.value);
    // The Scale places it at the end of the axis: without a mark it would look like a bar of just
    // that length.
    const bool is_cut = bar.value > scale.most();
    out += load::printed(
        "<rect x=\"%g\" y=\"%.1f\" width=\"%.1f\" height=\"%g\" class=\"bar %s%s\"/>\n",
        names_width, y + 4, std::max(1.0, end - names_width), row_height - 8,
        tones[static_cast<std::size_t>(bar.tone)], bar.is_marked ? " hollow" : "");
    double clear = end;
    if (is_cut) {
        out += load::printed("<path d=\"M%.1f %.1fl4 -13m3 0l-4 13\" class=\"cut\"/>\n", end - 12,
                             middle + 6.5);
    } else if (bar.most > bar.least) {
        // The figure comes after the line of the rounds, which may be longer than the bar.
        clear = std::max(end, scale.place(bar.most));
        out += load::printed("<path d=\"M%.1f %.1fH%.1f\" class=\"spread\"/>\n",
                             scale.place(bar.least), middle, clear);
    }
    out += load::printed("<text x=\"%.1f\" y=\"%g\">", clear + 5, middle + 4) +
           escape_markup(bar.figure);
    if (!bar.beside.empty()) {
        out += "<tspan dx=\"6\" class=\"quiet\">" + escape_markup(bar.beside) + "</tspan>";
    }
    return out + "</text>\n";
}

}  // namespace

std::string draw(const BarChart& chart) {
    const double top = chart.line > 0 ? 18 : 4;
    const double height = top + row_height * static_cast<double>(chart.bars.size()) + 4;
    double most = chart.line;
    double figures_width = 0;
    for (const Bar& bar : chart.bars) {
        if (!bar.has_value) continue;
        most = std::max(most, std::max(bar.value, bar.most));
        figures_width = std::max(figures_width, width_of(bar.figure) + width_of(bar.beside) + 6);
    }
    // One server that costs fifty times the floor would press all others together at the left.
    if (chart.line > 0) most = std::min(most, chart.line * cut_at_lines);
    // The figures stand at the ends of the bars, and the longest bar needs its own room for one;
    // half of the chart is the bars' in any case.
    const double right = chart_width - std::min(figures_width + 10, chart_width / 2);
    const Scale scale(ScaleKind::linear, 0, most, names_width, right);
    std::string out = begin_svg(height, chart.label);
    if (chart.line > 0) {
        const double x = scale.place(chart.line);
        out += words(load::printed("x=\"%.1f\" y=\"11\" class=\"line-name\"", x), chart.line_name);
        out += load::printed("<path d=\"M%.1f 15V%g\" class=\"floor-line\"/>\n", x, height - 2);
    }
    for (std::size_t i = 0; i < chart.bars.size(); ++i) {
        out += draw_bar(chart.bars[i], scale, top + row_height * static_cast<double>(i));
    }
    return out + "</svg>\n";
}

// ---- lines --------------------------------------------------------------------------------------

namespace {

constexpr double plot_left = 50;
constexpr double plot_right = chart_width - 98;
constexpr double plot_top = 8;
constexpr double plot_bottom = 196;
constexpr double lines_height = 236;
constexpr double label_height = 13;
constexpr std::size_t dotted_points_max = 6;  // of more, the line is a curve

struct Axes {
    Scale x;
    Scale y;
};

Axes axes_of(const LineChart& chart) {
    double x_least = 0, x_most = 0;
    // The ticks are the frame: points outside of them are drawn at its edge.
    if (!chart.x_ticks.empty()) {
        x_least = chart.x_ticks.front().first;
        x_most = chart.x_ticks.back().first;
    }
    return {Scale(chart.x_kind, x_least, x_most, plot_left, plot_right),
            Scale(chart.y_kind, chart.y_least, chart.y_most, plot_bottom, plot_top)};
}

// "10.0 ms" is "10 ms": a tick is exact.
std::string without_zeros(std::string text) {
    const std::size_t point = text.find('.');
    if (point == std::string::npos) return text;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", point + 1), text.size());
    std::size_t keep = end;
    while (text[keep - 1] == '0') --keep;
    if (keep == point + 1) keep = point;
    return text.erase(keep, end - keep);
}

std::string draw_axes(const LineChart& chart, const Axes& axes) {
    std::string out;
    for (const double tick : axes.y.ticks(5)) {
        const double y = axes.y.place(tick);
        out +=
            load::printed("<path d=\"M%g %.1fH%g\" class=\"grid\"/>\n", plot_left, y, plot_right);
        out += words(load::printed("x=\"%g\" y=\"%.1f\" class=\"tick left\"", plot_left - 6, y + 4),
                     without_zeros(chart.y_text ? chart.y_text(tick) : load::short_number(tick)));
    }
    for (const auto& [value, name] : chart.x_ticks) {
        const double x = axes.x.place(value);
        out += load::printed("<path d=\"M%.1f %gv4\" class=\"axis\"/>\n", x, plot_bottom);
        out += words(load::printed("x=\"%.1f\" y=\"%g\" class=\"tick below\"", x, plot_bottom + 17),
                     name);
    }
    out += load::printed("<path d=\"M%g %gH%g\" class=\"axis\"/>\n", plot_left, plot_bottom,
                         plot_right);
    return out + words(load::printed("x=\"%g\" y=\"%g\" class=\"tick below\"",
                                     (plot_left + plot_right) / 2, lines_height - 4),
                       chart.x_name);
}

std::string class_of(const Line& line) {
    return line.colour < colours ? load::printed("c%u", line.colour) : "reference";
}

std::string draw_line(const Line& line, const Axes& axes) {
    std::string path, dots;
    const std::string name = class_of(line);
    const bool has_dots = line.colour < colours && line.points.size() <= dotted_points_max;
    for (const Point& point : line.points) {
        const double x = axes.x.place(point.x), y = axes.y.place(point.y);
        path += load::printed("%s%.1f %.1f", path.empty() ? "M" : "L", x, y);
        if (has_dots) dots += load::printed("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.4\"/>", x, y);
    }
    return "<g class=\"" + name + (line.is_dashed ? " again" : "") +
           (line.is_floor ? " floor-reference" : "") + "\"><path d=\"" + path + "\"/>" + dots +
           "</g>\n";
}

std::string draw_labels(const LineChart& chart, const Axes& axes) {
    std::vector<double> wanted;
    std::vector<const Line*> lines;
    for (const Line& line : chart.lines) {
        // A server without a figure here has no line, and a label alone would look like one.
        if (line.points.empty()) continue;
        lines.push_back(&line);
        wanted.push_back(axes.y.place(line.points.back().y));
    }
    const std::vector<double> places = spread_labels(wanted, label_height, plot_top, plot_bottom);
    std::string out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const double x = axes.x.place(lines[i]->points.back().x);
        const std::string name = class_of(*lines[i]);
        out += "<path class=\"leader " + name + "\" " +
               load::printed("d=\"M%.1f %.1fL%g %.1f\"/>\n", x + 3, wanted[i], plot_right + 8,
                             places[i]);
        out += words(load::printed("x=\"%g\" y=\"%.1f\" class=\"label %s\"", plot_right + 11,
                                   places[i] + 4, name.c_str()),
                     lines[i]->name);
    }
    return out;
}

}  // namespace

std::vector<double> spread_labels(const std::vector<double>& wanted, double height, double top,
                                  double bottom) {
    std::vector<std::size_t> order(wanted.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Equal places by their number, so that a report that is made again is the same text.
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(wanted[i], i); });
    std::vector<double> places = wanted;
    // First downwards: each at its place, or as high as the one above it allows.
    double next = top;
    for (const std::size_t i : order) {
        places[i] = std::max(wanted[i], next);
        next = places[i] + height;
    }
    // Too low: push back up from the bottom. With more labels than room the topmost leave the plot.
    double last = bottom;
    for (const std::size_t i : std::vector(order.rbegin(), order.rend())) {
        places[i] = std::min(places[i], last);
        last = places[i] - height;
    }
    return places;
}

std::string draw(const LineChart& chart) {
    const Axes axes = axes_of(chart);
    std::string out = begin_svg(lines_height, chart.label) + draw_axes(chart, axes);
    for (const Line& line : chart.lines) out += draw_line(line, axes);
    return out + draw_labels(chart, axes) + "</svg>\n";
}

}  // namespace tiderace::lab::report
