#include "tiderace/testing/fake/fault_plan.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tiderace::testing {
namespace {

TEST(FaultPlan, OneSeedIsOnePlan) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        EXPECT_EQ(FaultPlan::from_seed(seed).describe(), FaultPlan::from_seed(seed).describe());
    }
}

TEST(FaultPlan, SeedsDifferAndEachFaultIsTried) {
    std::set<std::string> plans;
    FaultPlan ever{};
    int quiet = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const FaultPlan plan = FaultPlan::from_seed(seed);
        plans.insert(plan.describe());
        ever.short_receive |= plan.short_receive;
        ever.send_no_buffers |= plan.send_no_buffers;
        ever.accept_no_descriptor |= plan.accept_no_descriptor;
        ever.spurious_ready |= plan.spurious_ready;
        ever.delay_max = std::max(ever.delay_max, plan.delay_max);
        quiet += plan.describe() == FaultPlan{.seed = seed}.describe() ? 1 : 0;
    }
    EXPECT_EQ(plans.size(), 400U);  // the seed is part of the text
    EXPECT_GT(ever.short_receive, 0U);
    EXPECT_GT(ever.send_no_buffers, 0U);
    EXPECT_GT(ever.accept_no_descriptor, 0U);
    EXPECT_GT(ever.spurious_ready, 0U);
    EXPECT_GT(ever.delay_max, 1ms);
    EXPECT_GT(quiet, 50);
    EXPECT_LT(quiet, 200);
}

TEST(FaultPlan, SaysWhatIsOnAndNothingElse) {
    EXPECT_EQ(FaultPlan({.seed = 7}).describe(), "seed 7: buffers 64KiB");
    EXPECT_EQ(FaultPlan({.seed = 8, .short_send = 300, .delay_max = 2ms}).describe(),
              "seed 8: buffers 64KiB, short_send 300, delays to 2000 us");
}

}  // namespace
}  // namespace tiderace::testing
