#include "lab/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "lab/run/fake_servers_fixture.h"

namespace tiderace::lab::run {
namespace {

using report::Cell;
using report::CellState;
using ::testing::ElementsAre;

bool wait_a_while(Duration time) {
    std::this_thread::sleep_for(time);
    return false;
}

void tell_nobody(const CellTold&) {}

constexpr Patience impatient{.stall = 1s, .answer = 1500ms, .others = 1s};

std::vector<RunSubject> all_manners() {
    return {fake_subject("good", Manner::right), fake_subject("wrong", Manner::wrong_at_once),
            fake_subject("hung", Manner::mute_later), fake_subject("dead", Manner::dies)};
}

TEST(Run, GoesOnWhateverOneServerDoes) {
    auto subjects = all_manners();
    subjects.push_back(fake_subject("good too", Manner::right));
    subjects[1].pipelines = false;
    const auto site = SiteFolder::make();
    const Plan plan = plan_run(
        {.workloads = {"scale"}, .quick = true, .rounds = 1, .cell_time = 150ms}, subjects, 500);
    std::vector<Cell> cells;
    std::size_t told = 0;
    const auto count = [&](const CellTold& one) {
        ++told;
        EXPECT_EQ(one.of, 10U);
    };
    EXPECT_TRUE(run_cells({.plan = &plan,
                           .subjects = &subjects,
                           .site = &*site,
                           .patience = impatient,
                           .wait = wait_a_while,
                           .told = count},
                          cells));
    EXPECT_EQ(told, 20U) << "each is reported at its begin and at its end";
    std::vector<CellState> states;
    for (const Cell& cell : cells) {
        if (cell.connections == 100) states.push_back(cell.state);
    }
    EXPECT_THAT(states, ElementsAre(CellState::ok, CellState::wrong, CellState::hung,
                                    CellState::died, CellState::ok));
}

TEST(Run, WhatIsSkippedIsInTheResults) {
    auto subjects = std::vector{fake_subject("floor", Manner::right)};
    subjects[0].pipelines = false;
    const Plan plan = plan_run({.workloads = {"w5"}, .rounds = 1}, subjects, 500);
    std::vector<Cell> cells;
    const auto site = SiteFolder::make();
    EXPECT_TRUE(run_cells({.plan = &plan,
                           .subjects = &subjects,
                           .site = &*site,
                           .wait = wait_a_while,
                           .told = tell_nobody},
                          cells));
    ASSERT_EQ(cells.size(), 1U);
    EXPECT_EQ(cells[0].state, CellState::skipped);
    EXPECT_EQ(cells[0].reason, "it gives pipelined requests one answer");
}

TEST(Run, AnInterruptedRunKeepsWhatItHas) {
    const auto subjects = all_manners();
    const Plan plan = plan_run(
        {.workloads = {"scale"}, .quick = true, .rounds = 1, .cell_time = 20ms}, subjects, 500);
    const auto site = SiteFolder::make();
    std::vector<Cell> cells;
    const Wait wait = [&](Duration time) {
        std::this_thread::sleep_for(time);
        return !cells.empty();
    };
    EXPECT_FALSE(run_cells({.plan = &plan,
                            .subjects = &subjects,
                            .site = &*site,
                            .patience = impatient,
                            .wait = wait,
                            .told = tell_nobody},
                           cells));
    EXPECT_EQ(cells.size(), 1U);
}

}  // namespace
}  // namespace tiderace::lab::run
