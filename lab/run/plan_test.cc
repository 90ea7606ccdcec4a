#include "lab/run/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tiderace::lab::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<RunSubject> servers(std::size_t count) {
    std::vector<RunSubject> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i].facts.name = "s" + std::to_string(i);
    return all;
}

constexpr std::uint64_t plenty = 100'000;

TEST(Plan, ServersTakeTurnsInsideEachRoundAndInBeingFirst) {
    const Plan plan = plan_run({.workloads = {"churn", "w1"}, .rounds = 2}, servers(2), plenty);
    std::vector<std::string> order;
    for (const PlannedCell& cell : plan.cells) {
        order.push_back(std::to_string(cell.round) + " " +
                        std::string(workloads()[cell.workload].name) + " s" +
                        std::to_string(cell.subject));
    }
    EXPECT_THAT(order, ElementsAre("1 w1 s0", "1 w1 s1", "1 churn s0", "1 churn s1", "2 w1 s1",
                                   "2 w1 s0", "2 churn s1", "2 churn s0"));
}

TEST(Plan, BothKindsOfRunStayWithinTheirTime) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{8}, std::size_t{22}}) {
        const Plan quick = plan_run({.quick = true}, servers(count), plenty);
        EXPECT_LT(quick.estimate, 180s) << count;
        EXPECT_EQ(quick.rounds, 1U);
        const Plan full = plan_run({}, servers(count), plenty);
        EXPECT_LT(full.estimate, 2400s) << count;
        EXPECT_EQ(full.rounds, 3U);
        EXPECT_GT(full.cell_time, 1s) << count;
        EXPECT_GT(full.cells.size(), quick.cells.size());
    }
}

TEST(Plan, ANamedWorkloadRunsInAQuickRun) {
    const Plan plan =
        plan_run({.workloads = {"w4"}, .quick = true, .cell_time = 7s}, servers(1), plenty);
    ASSERT_EQ(plan.cells.size(), 1U) << "a workload that is named runs in a quick run, too";
    EXPECT_EQ(plan.cell_time, Duration(7s));
    EXPECT_EQ(plan.cells[0].connections, 1'000U);
}

TEST(Plan, TooFewDescriptorsScaleTheWorkloadAndAreReported) {
    const Plan plan = plan_run({.workloads = {"w1", "w2"}, .rounds = 1}, servers(1), 1'000);
    ASSERT_EQ(plan.cells.size(), 3U);
    EXPECT_EQ(plan.cells[0].connections, 1'000U);
    EXPECT_EQ(plan.cells[1].connections, 100U);
    EXPECT_EQ(plan.cells[2].connections, 1'000U);
    EXPECT_THAT(plan.notes, ::testing::Contains(HasSubstr("10,000")).Times(0));
    EXPECT_THAT(plan.notes,
                ElementsAre(HasSubstr("w1 runs with 1000"), HasSubstr("w2 runs with 1000")));
    EXPECT_THAT(plan_run({}, servers(1), plenty).notes, IsEmpty());
    // Two numbers that become one are one.
    EXPECT_EQ(plan_run({.workloads = {"w2"}, .rounds = 1}, servers(1), 100).cells.size(), 1U);
}

TEST(Plan, AnAbsentServerHasNoCellAndAnUnableOneSaysWhy) {
    auto all = servers(3);
    all[0].facts.absent = "not installed";
    all[1].serves_files = false;
    all[1].pipelines = false;
    all[1].answer_bytes_max = 8'000;
    const Plan plan =
        plan_run({.workloads = {"w0", "w5", "mixed", "w1"}, .rounds = 1}, all, plenty);
    std::set<std::string> reasons;
    for (const PlannedCell& cell : plan.cells) {
        EXPECT_NE(cell.subject, 0U);
        if (cell.subject == 1) reasons.insert(cell.skipped);
        if (cell.subject == 2) {
            EXPECT_EQ(cell.skipped, "");
        }
    }
    EXPECT_THAT(reasons, ElementsAre("", HasSubstr("requests one answer"),
                                     HasSubstr("one answer only"), HasSubstr("that long")));
    EXPECT_EQ(plan.to_run(), 5U);
}

// Installed or not: the buffer of its config holds the middle file, which three workloads have.
TEST(Plan, HaproxyGivesTheMiddleFileAndNotTheLargeOne) {
    const auto found = find_subjects({"haproxy"}, "1", {});
    const auto haproxy = std::ranges::find(found, "haproxy", [](const RunSubject& subject) {
        return std::string_view(subject.facts.name);
    });
    ASSERT_NE(haproxy, found.end());
    EXPECT_GE(haproxy->answer_bytes_max, facts_of(SiteFile::middle).bytes);
    EXPECT_LT(haproxy->answer_bytes_max, facts_of(SiteFile::large).bytes);
}

TEST(Plan, WithoutServersThereIsNothingToRun) {
    EXPECT_EQ(plan_run({}, {}, plenty).to_run(), 0U);
    EXPECT_EQ(plan_run({.workloads = {"w3"}}, servers(1), plenty).to_run(), 0U);
}

}  // namespace
}  // namespace tiderace::lab::run
