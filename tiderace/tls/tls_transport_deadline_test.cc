// The deadline of a handshake: it runs while the peer is waited for.
#include "tiderace/tls/raw_peer_fixture.h"
#include "tiderace/tls/tls_fixture.h"

namespace tiderace::tls {
namespace {

using Failure = HandshakeFailure;

class HandshakeDeadlineTest : public TlsTest {
  protected:
    std::uint64_t failures(Failure why) { return context_->counters().failures(why); }
};

TEST_F(HandshakeDeadlineTest, AHandshakeHasADeadline) {
    ServerOptions options = server_options();
    options.handshake_timeout = 5s;
    serve(options);
    testing::TransportPeer silent(world_.loop(), reach());
    testing::TransportPeer slow(world_.loop(), reach());
    for (int i = 0; i < 4; ++i) {
        slow.say("\x16");
        world_.advance(1s);
    }
    EXPECT_EQ(server_->size(), 2U);
    world_.advance(2s);
    EXPECT_EQ(server_->size(), 0U);
    EXPECT_EQ(failures(Failure::deadline), 2U);
}

TEST_F(HandshakeDeadlineTest, AHandshakesDeadlineMayBeNever) {
    ServerOptions options = server_options();
    options.handshake_timeout = Duration::max();
    serve(options);
    testing::TransportPeer silent(world_.loop(), reach());
    world_.advance(1h);
    EXPECT_EQ(server_->size(), 1U);
    EXPECT_EQ(failures(Failure::deadline), 0U);
}

// The process was stopped, or has many handshakes in hand: the bytes are here, and wait for us.
TEST_F(HandshakeDeadlineTest, AHandshakeThatWaitsForItsStepIsNotLate) {
    ServerOptions options = server_options();
    options.handshake_timeout = 5s;
    options.handshakes_per_turn_max = 1;
    serve(options);
    const SslContextPtr raw = raw_context();
    RawPeer first(world_.loop(), reach(), raw.get());
    RawPeer second(world_.loop(), reach(), raw.get());
    world_.settle();
    first.pump();
    second.pump();
    world_.clock().advance(6s);
    EXPECT_TRUE(run_until([&] {
        first.pump();
        second.pump();
        return context_->counters().done() == 2;
    }));
    EXPECT_EQ(failures(Failure::deadline), 0U);
}

// Once: one that sends a byte whenever its time is over would otherwise never end.
TEST_F(HandshakeDeadlineTest, AHandshakeGetsItsTimeOnceMoreAtMost) {
    ServerOptions options = server_options();
    options.handshake_timeout = 5s;
    serve(options);
    const SslContextPtr raw = raw_context();
    RawPeer slow(world_.loop(), reach(), raw.get());
    slow.pump();
    world_.clock().advance(5s);
    world_.settle();
    ASSERT_EQ(server_->size(), 1U);
    slow.below().say("\x14");
    world_.clock().advance(5s);
    world_.settle();
    EXPECT_EQ(server_->size(), 0U);
    EXPECT_EQ(failures(Failure::deadline), 1U);
}

// A part of a hello waits for its peer, not for us.
TEST_F(HandshakeDeadlineTest, APartOfAHelloGetsNoTimeOnceMore) {
    ServerOptions options = server_options();
    options.handshake_timeout = 5s;
    serve(options);
    testing::TransportPeer slow(world_.loop(), reach());
    world_.settle();
    slow.say("\x16");
    world_.clock().advance(5s);
    world_.settle();
    EXPECT_EQ(server_->size(), 0U);
    EXPECT_EQ(failures(Failure::deadline), 1U);
}

TEST_F(HandshakeDeadlineTest, AHandshakeThatIsDoneHasNoDeadline) {
    const auto peer = connect();
    peer->say("hello");
    ASSERT_TRUE(run_until([&] { return peer->heard() == "hello"; }));
    world_.advance(1min);
    EXPECT_EQ(server_->size(), 1U);
}

}  // namespace
}  // namespace tiderace::tls
