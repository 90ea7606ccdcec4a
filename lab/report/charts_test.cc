#include "lab/report/charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "load/figures.h"

namespace tiderace::lab::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

BarChart two_bars() {
    return {.label = "cost",
            .bars = {{.name = "epoll",
                      .tone = Tone::chosen,
                      .has_value = true,
                      .value = 5,
                      .least = 4,
                      .most = 6,
                      .figure = "5.00"},
                     {.name = "pool", .figure = "hung"}},
            .line = 4,
            .line_name = "floor 4.00"};
}

TEST(Charts, ABarHasItsNameItsFigureAndItsSpread) {
    const std::string svg = draw(two_bars());
    EXPECT_THAT(svg, HasSubstr(">epoll</text>"));
    EXPECT_THAT(svg, HasSubstr(">5.00</text>"));
    EXPECT_THAT(svg, HasSubstr("class=\"bar chosen\""));
    EXPECT_THAT(svg, HasSubstr("class=\"spread\""));
    EXPECT_THAT(svg, HasSubstr(">hung</text>"));
    EXPECT_THAT(svg, HasSubstr("class=\"floor-line\""));
    EXPECT_THAT(svg, Not(HasSubstr("class=\"cut\"")));
}

TEST(Charts, ABarThatIsManyFloorsLongIsCut) {
    BarChart chart = two_bars();
    chart.bars[0].value = 4 * cut_at_lines + 1;
    EXPECT_THAT(draw(chart), HasSubstr("class=\"cut\""));
}

TEST(Charts, NamesAreText) {
    BarChart bars = two_bars();
    bars.label = bars.bars[0].name = bars.line_name = "<b>\"&'";
    const LineChart lines{.label = "<b>\"&'",
                          .x_ticks = {{1, "<b>"}, {10, "10"}},
                          .x_name = "<b>",
                          .y_least = 1,
                          .y_most = 10,
                          .lines = {{.name = "<b>", .points = {{1, 1}, {10, 5}}}}};
    for (const std::string& svg : {draw(bars), draw(lines)}) {
        EXPECT_THAT(svg, Not(HasSubstr("<b>")));
        EXPECT_THAT(svg, HasSubstr("&lt;b&gt;&quot;&amp;&#39;"));
    }
}

TEST(Charts, ALineIsNamedAtItsEnd) {
    const LineChart chart{.label = "x",
                          .x_ticks = {{1, "1"}, {100, "100"}},
                          .y_text = load::rate,
                          .y_least = 1,
                          .y_most = 1000,
                          .lines = {{.name = "epoll", .colour = 1, .points = {{1, 10}, {100, 900}}},
                                    {.name = "old", .colour = colours, .points = {{1, 20}}},
                                    {.name = "absent", .points = {}}}};
    const std::string svg = draw(chart);
    EXPECT_THAT(svg, HasSubstr("class=\"label c1\">epoll</text>"));
    EXPECT_THAT(svg, HasSubstr("class=\"label reference\">old</text>"));
    EXPECT_THAT(svg, Not(HasSubstr("absent")));
    EXPECT_THAT(svg, Not(HasSubstr(" again")));
    for (const char* tick : {">10</text>", ">100</text>", ">1k</text>"}) {
        EXPECT_THAT(svg, HasSubstr(tick));
    }
    LineChart dashed = chart;
    dashed.lines[0].is_dashed = true;
    EXPECT_THAT(draw(dashed), HasSubstr("class=\"c1 again\""));
}

TEST(Charts, AChartOfNothingIsStillAPicture) {
    EXPECT_THAT(draw(BarChart{}), HasSubstr("</svg>"));
    EXPECT_THAT(draw(LineChart{}), HasSubstr("</svg>"));
    EXPECT_THAT(draw(LineChart{}), Not(HasSubstr("nan")));
}

TEST(Charts, LabelsDoNotCoverEachOther) {
    for (const auto& wanted : std::vector<std::vector<double>>{
             {50}, {50, 50, 50}, {0, 1, 2, 3}, {99, 98, 97, 96, 95}, {100, 0, 100, 0}}) {
        const auto places = spread_labels(wanted, 12, 0, 100);
        ASSERT_EQ(places.size(), wanted.size());
        for (std::size_t i = 0; i < places.size(); ++i) {
            EXPECT_LE(places[i], 100);
            for (std::size_t j = 0; j < i; ++j) {
                EXPECT_GE(std::abs(places[i] - places[j]), 12 - 1e-9);
            }
        }
    }
    EXPECT_THAT(spread_labels({10, 80}, 12, 0, 100), ::testing::ElementsAre(10, 80));
}

}  // namespace
}  // namespace tiderace::lab::report
