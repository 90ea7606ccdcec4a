#include "tiderace/testing/fake_world.h"

#include <gtest/gtest.h>

#include "tiderace/testing/echo_session.h"

namespace tiderace::testing {
namespace {

// The behaviour of all worlds is tested in world_test.cc.
class FakeWorldTest : public ::testing::Test {
  protected:
    FakeWorld world_;
    EchoSessions sessions_;
    net::TcpServer server_{world_.loop(), sessions_, {}};
};

TEST_F(FakeWorldTest, EndsWhenNothingWillHappen) {
    server_.listen(world_.listen());
    const Duration before = world_.elapsed();
    EXPECT_FALSE(world_.run_until([] { return false; }));
    EXPECT_EQ(world_.elapsed(), before);
}

TEST_F(FakeWorldTest, CountsTheLoopsDescriptors) {
    const std::int64_t before = world_.open_descriptors();
    server_.listen(world_.listen());
    const auto peer = world_.connect();
    ASSERT_TRUE(world_.run_until([&] { return server_.size() == 1; }));
    EXPECT_EQ(world_.open_descriptors() - before, 3);  // the listener, its spare, the connection
}

std::string run_of(std::uint64_t seed) {
    FakeWorld world(FaultPlan{.seed = seed,
                              .short_receive = 3'000,
                              .short_send = 3'000,
                              .interrupted = 3'000,
                              .delay_max = 5ms});
    world.network().trace_on();
    EchoSessions sessions;
    net::TcpServer server(world.loop(), sessions, {});
    server.listen(world.listen());
    const auto one = world.connect();
    const auto two = world.connect();
    one->say(std::string(3'000, '1'));
    two->say(std::string(2'000, '2'));
    EXPECT_TRUE(
        world.run_until([&] { return one->heard().size() + two->heard().size() == 5'000; }));
    std::string lines;
    for (const std::string& line : world.network().trace()) lines += line + '\n';
    return lines;
}

TEST(FakeWorldSeeds, OneSeedIsOneRun) {
    EXPECT_EQ(run_of(7), run_of(7));
    EXPECT_NE(run_of(7), run_of(8));
}

}  // namespace
}  // namespace tiderace::testing
