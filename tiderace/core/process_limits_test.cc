#include "tiderace/core/process_limits.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

namespace tiderace::core {
namespace {

class ProcessLimitsTest : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0); }
    void TearDown() override { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

    void set_soft(rlim_t soft) {
        rlimit limit = before_;
        limit.rlim_cur = soft;
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    rlim_t soft() {
        rlimit limit;
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
        return limit.rlim_cur;
    }
    rlimit before_;
};

TEST_F(ProcessLimitsTest, TheSoftLimitRisesToTheHardOneAndBothAreReported) {
    set_soft(128);
    const auto limit = raise_descriptor_limit();
    ASSERT_TRUE(limit);
    EXPECT_EQ(limit->before, 128U);
    EXPECT_EQ(limit->after, soft() == RLIM_INFINITY ? UINT64_MAX : soft());
    EXPECT_GT(limit->after, 128U);
#if !defined(__APPLE__)
    EXPECT_EQ(soft(), before_.rlim_max);
#endif
}

TEST_F(ProcessLimitsTest, RaisedTwiceItStays) {
    ASSERT_TRUE(raise_descriptor_limit());
    const rlim_t raised = soft();
    const auto again = raise_descriptor_limit();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->before, again->after);
    EXPECT_EQ(soft(), raised);
}

TEST(RoomForConnections, IsWhatTheLoopsDoNotKeep) {
    EXPECT_EQ(room_for_connections(20'000, 1), 20'000U - 364);
    EXPECT_EQ(room_for_connections(20'000, 30), 20'000U - 9'064);
    EXPECT_EQ(room_for_connections(1'024, 1), 660U);
    EXPECT_EQ(room_for_connections(500, 1), 250U);
    EXPECT_EQ(room_for_connections(1'024, 4), 512U);
    EXPECT_EQ(room_for_connections(1, 1), 1U);
    EXPECT_EQ(room_for_connections(1'024, 16, 16), 1'024U - 320);
    EXPECT_EQ(room_for_connections(UINT64_MAX, 1), UINT64_MAX - 364);
}

}  // namespace
}  // namespace tiderace::core
