#include "tiderace/testing/fake_peer.h"

#include <gtest/gtest.h>

#include "tiderace/testing/echo_session.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::testing {
namespace {

// The behaviour of all peers is tested in world_test.cc.
class FakePeerTest : public ::testing::Test {
  protected:
    FakeWorld world_;
    EchoSessions sessions_;
    net::TcpServer server_{world_.loop(), sessions_, {}};
};

TEST_F(FakePeerTest, DripsAtItsPace) {
    server_.listen(world_.listen());
    const auto peer = world_.connect_fake();
    peer->set_saying_pace({.bytes = 2, .every = 1s});
    const Duration began = world_.elapsed();
    peer->say("0123456789");
    ASSERT_TRUE(world_.run_until([&] { return sessions_.bytes == 4; }));
    EXPECT_EQ(world_.elapsed() - began, 1s);
    EXPECT_EQ(peer->said(), 4U);
    ASSERT_TRUE(world_.run_until([&] { return peer->heard() == "0123456789"; }));
    EXPECT_EQ(world_.elapsed() - began, 4s);
}

TEST_F(FakePeerTest, ReadsAtItsPace) {
    server_.listen(world_.listen());
    const auto peer = world_.connect_fake();
    peer->set_hearing_pace({.bytes = 100, .every = 1ms});
    const Duration began = world_.elapsed();
    peer->say(std::string(1'000, 'x'));
    ASSERT_TRUE(world_.run_until([&] { return peer->heard().size() == 1'000; }));
    EXPECT_EQ(world_.elapsed() - began, 9ms);
}

TEST_F(FakePeerTest, RetriesWhileTheQueueIsFullAndGivesUpWithoutAListener) {
    core::Descriptor listener = world_.listen(1);
    const auto first = world_.connect_fake();
    const auto second = world_.connect_fake();
    EXPECT_TRUE(first->connected());
    EXPECT_FALSE(second->connected());
    EXPECT_FALSE(second->refused());
    second->say("early");
    server_.listen(std::move(listener));
    EXPECT_TRUE(world_.run_until([&] { return second->heard() == "early"; }));
    EXPECT_TRUE(world_.connect_fake(core::Address::loopback(1))->refused());
}

TEST_F(FakePeerTest, ItsEventsDoNotOutliveIt) {
    server_.listen(world_.listen());
    {
        const auto peer = world_.connect_fake();
        peer->set_saying_pace({.bytes = 1, .every = 1s});
        peer->say("never all of it");
        ASSERT_TRUE(world_.run_until([&] { return sessions_.bytes == 2; }));
    }
    world_.advance(1min);
    EXPECT_EQ(sessions_.closed, 1U);
    EXPECT_EQ(sessions_.bytes, 2U);
}

TEST_F(FakePeerTest, FinishesAfterAllItSaid) {
    server_.listen(world_.listen());
    const auto peer = world_.connect_fake();
    peer->set_saying_pace({.bytes = 1, .every = 1ms});
    peer->say("abc");
    peer->finish();
    ASSERT_TRUE(world_.run_until([&] { return peer->ended(); }));
    EXPECT_EQ(peer->heard(), "abc");
}

}  // namespace
}  // namespace tiderace::testing
