#include "tiderace/testing/transport_peer.h"

#include <gtest/gtest.h>

#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/pipe_transport.h"

namespace tiderace::testing {
namespace {

class TransportPeerTest : public ::testing::Test {
  protected:
    FakeWorld world_;
    Pipe pipe_ = make_pipe(world_.loop());
    TransportPeer one_{world_.loop(), std::move(pipe_.near)};
    TransportPeer two_{world_.loop(), std::move(pipe_.far)};
};

TEST_F(TransportPeerTest, SaysAndHearsBothWays) {
    one_.say("hello ");
    one_.say("two");
    two_.say("hello one");
    world_.settle();
    EXPECT_EQ(one_.heard(), "hello one");
    EXPECT_EQ(two_.heard(), "hello two");
    EXPECT_FALSE(one_.over());
}

TEST_F(TransportPeerTest, FinishesAfterAllItSaid) {
    const std::string much(1 << 20, 'x');
    one_.say(much);
    one_.finish();
    world_.settle();
    EXPECT_EQ(two_.heard(), much);
    EXPECT_TRUE(two_.ended());
    EXPECT_FALSE(one_.over());
}

TEST_F(TransportPeerTest, StallsWhileItDoesNotListen) {
    two_.set_listening(false);
    one_.say("x");
    world_.settle();
    EXPECT_EQ(two_.heard(), "");
    two_.set_listening(true);
    world_.settle();
    EXPECT_EQ(two_.heard(), "x");
}

TEST_F(TransportPeerTest, AResetIsNotAnEnd) {
    one_.reset();
    world_.settle();
    EXPECT_TRUE(two_.was_reset());
    EXPECT_FALSE(two_.ended());
}

}  // namespace
}  // namespace tiderace::testing
