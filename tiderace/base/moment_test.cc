#include "tiderace/base/moment.h"

#include <gtest/gtest.h>

namespace tiderace {
namespace {

TEST(MomentAfter, IsTheSumOrNever) {
    const Instant now(1h);
    EXPECT_EQ(moment_after(now, 10s), now + 10s);
    EXPECT_EQ(moment_after(now, -10s), now - 10s);
    EXPECT_EQ(moment_after(now, Duration::max()), Instant::max());
    EXPECT_EQ(moment_after(now, Duration::max() - 1h), Instant::max());
    EXPECT_EQ(moment_after(now, Duration::max() - 1h - 1ns), Instant::max() - 1ns);
    EXPECT_EQ(moment_after(Instant::max(), 1ns), Instant::max());
    EXPECT_EQ(moment_after(Instant::max(), -1ns), Instant::max() - 1ns);
    // A test's clock may begin before zero.
    EXPECT_EQ(moment_after(Instant(-1h), Duration::max()), Instant::max() - 1h);
}

}  // namespace
}  // namespace tiderace
