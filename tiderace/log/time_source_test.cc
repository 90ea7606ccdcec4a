#include "tiderace/log/time_source.h"

#include <gtest/gtest.h>

#include <ctime>

namespace tiderace::log {
namespace {

TEST(SystemTime, IsTheWallClockInMilliseconds) {
    const std::int64_t before_s = std::time(nullptr);
    const std::int64_t now_ms = SystemTime().unix_ms();
    const std::int64_t after_s = std::time(nullptr);
    // time() may lag behind the precise clock by a tick.
    EXPECT_GE(now_ms / 1'000, before_s);
    EXPECT_LE(now_ms / 1'000, after_s + 1);
}

}  // namespace
}  // namespace tiderace::log
