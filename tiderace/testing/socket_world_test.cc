#include "tiderace/testing/socket_world.h"

#include <gtest/gtest.h>

#include "tiderace/testing/echo_session.h"

namespace tiderace::testing {
namespace {

// The behaviour of all worlds is tested in world_test.cc.
TEST(SocketWorld, ListensOnLoopbackAtAPortOfTheKernels) {
    SocketWorld world("auto");
    const core::Descriptor listener = world.listen();
    EXPECT_TRUE(world.listening_at().is_loopback());
    EXPECT_GT(world.listening_at().port(), 0);
}

TEST(SocketWorld, APeerWithoutAListenerIsReset) {
    SocketWorld world("auto");
    {
        const core::Descriptor gone = world.listen();
    }
    EXPECT_TRUE(world.connect()->was_reset());
}

TEST(SocketWorld, ALongTimePassesInBoundedSteps) {
    SocketWorld world("auto");
    const std::uint64_t before = world.loop().turns();
    world.advance(24h);
    EXPECT_LT(world.loop().turns() - before, 2'000U);
}

}  // namespace
}  // namespace tiderace::testing
