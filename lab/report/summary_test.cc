#include "lab/report/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/report/sample_fixture.h"

namespace tiderace::lab::report {
namespace {

TEST(Summary, TheMedianIsTheMiddleOne) {
    EXPECT_EQ(spread_of({}), (Spread{0, 0, 0}));
    EXPECT_EQ(spread_of({7}), (Spread{7, 7, 7}));
    EXPECT_EQ(spread_of({9, 1, 5}), (Spread{5, 1, 9}));
    EXPECT_EQ(spread_of({9, 1, 5, 2}), (Spread{3.5, 1, 9}));
}

TEST(Summary, RoundsOfACellAreBroughtTogether) {
    const auto all = summarize(sample_results());
    const CellSummary* epoll = find(all, "epoll", "w1", 10'000);
    ASSERT_NE(epoll, nullptr);
    EXPECT_EQ(epoll->rounds, 3U);
    EXPECT_EQ(epoll->cpu_us, (Spread{6, 5, 8}));
    EXPECT_DOUBLE_EQ(*ratio_to(all, *epoll, "floor"), 1.5);
    EXPECT_EQ(find(all, "epoll", "w1", 9), nullptr);
}

TEST(Summary, OneBadRoundIsTheCellsState) {
    Results results = sample_results();
    results.cells[1] = failed_cell("epoll", "w1", 10'000, CellState::died, "signal 11");
    const auto all = summarize(results);
    const CellSummary* epoll = find(all, "epoll", "w1", 10'000);
    EXPECT_EQ(epoll->state, CellState::died);
    EXPECT_EQ(epoll->reason, "signal 11");
    EXPECT_EQ(epoll->rounds, 2U);
    EXPECT_FALSE(epoll->has_figures());
    EXPECT_FALSE(ratio_to(all, *epoll, "floor"));
}

TEST(Summary, ARoundThatWasSkippedTakesNothingFromTheOthers) {
    Results results = sample_results();
    results.cells[2] = failed_cell("epoll", "w1", 10'000, CellState::skipped, "interrupted");
    const auto all = summarize(results);
    EXPECT_EQ(find(all, "epoll", "w1", 10'000)->state, CellState::ok);
    EXPECT_EQ(find(all, "epoll", "w1", 10'000)->rounds, 2U);
}

TEST(Summary, TheCheaperWayOfTheFloorIsTheFloor) {
    Results results = sample_results();
    results.subjects.push_back({.name = "floor-sendfile", .kind = SubjectKind::floor});
    for (std::size_t i = 0, count = results.cells.size(); i < count; ++i) {
        if (results.cells[i].subject != "floor") continue;
        Cell cheaper = results.cells[i];
        cheaper.subject = "floor-sendfile";
        cheaper.cpu_us /= 2;
        results.cells.push_back(cheaper);
    }
    const auto all = summarize(results);
    EXPECT_EQ(floor_cell(all, "floor", "w1", 10'000)->subject, "floor-sendfile");
    EXPECT_DOUBLE_EQ(*ratio_to(all, *find(all, "epoll", "w1", 10'000), "floor"), 3);
    EXPECT_EQ(floor_cell(all, "floor", "w1", 9), nullptr);
}

TEST(Summary, WithoutAFloorThereIsNoRatio) {
    const auto all = summarize(sample_results());
    const CellSummary* epoll = find(all, "epoll", "w1", 10'000);
    EXPECT_FALSE(ratio_to(all, *epoll, ""));
    EXPECT_FALSE(ratio_to(all, *find(all, "pool", "w1", 10'000), "floor"));
    Results results = sample_results();
    for (Cell& cell : results.cells) {
        if (cell.subject == "floor") cell.state = CellState::starved;
    }
    const auto starved = summarize(results);
    EXPECT_FALSE(ratio_to(starved, *find(starved, "epoll", "w1", 10'000), "floor"));
    EXPECT_EQ(floor_of(sample_results()), "floor");
    EXPECT_EQ(floor_of(Results{}), "");
}

TEST(Summary, MemoryIsReportedForEachConnection) {
    const auto all = summarize(sample_results());
    const CellSummary* idle = find(all, "epoll", "idle", 1'000);
    EXPECT_DOUBLE_EQ(idle->measured("connection_bytes").median, 1'000);
    EXPECT_DOUBLE_EQ(idle->measured("cpu_us").median, 5);
}

// A thousand came, a hundred were let in: those have the memory.
TEST(Summary, RefusedConnectionsDoNotCountInTheMemory) {
    Results results = sample_results();
    Cell& turning_away = results.cells.back();
    turning_away.state = CellState::refused;
    turning_away.open_max = 400;
    turning_away.starved = 900;
    Cell another = turning_away;
    another.round = 2;
    another.memory_bytes = another.memory_before_bytes - 1;
    results.cells.push_back(another);
    EXPECT_EQ(find(summarize(results), "epoll", "idle", 1'000)->connection_bytes,
              (Spread{5'000, 0, 10'000}));
    for (Cell& cell : results.cells) cell.starved = cell.connections - cell.connections / 100;
    EXPECT_EQ(find(summarize(results), "epoll", "idle", 1'000)->connection_bytes, Spread{});
}

TEST(Summary, HowManyStarvedAndTheSentenceAreOfOneRound) {
    Results results = sample_results();
    for (const std::uint64_t starved : {0, 18, 1}) {
        Cell& cell = results.cells[starved == 0 ? 0 : starved == 18 ? 1 : 2];
        cell.state = CellState::starved;
        cell.starved = starved;
        cell.reason = std::to_string(starved);
    }
    const auto all = summarize(results);
    const CellSummary* epoll = find(all, "epoll", "w1", 10'000);
    EXPECT_EQ(epoll->reason, "18");
    EXPECT_DOUBLE_EQ(epoll->starved, 18);
    EXPECT_DOUBLE_EQ(epoll->held(), 9'982);
}

TEST(Summary, ACurveIsReadFromAbove) {
    const auto curve = sample_results().cells[0].latency_us;
    EXPECT_DOUBLE_EQ(latency_at(curve, 0.5), 100);
    EXPECT_DOUBLE_EQ(latency_at(curve, 0.95), 400);
    EXPECT_DOUBLE_EQ(latency_at(curve, 1), 5000);
    EXPECT_DOUBLE_EQ(latency_at({}, 0.5), 0);
}

}  // namespace
}  // namespace tiderace::lab::report
