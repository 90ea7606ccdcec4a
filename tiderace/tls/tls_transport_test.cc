#include "tiderace/tls/tls_transport.h"

#include "tiderace/tls/tls_fixture.h"

namespace tiderace::tls {
namespace {

class TransportTest : public TlsTest {};

TEST_F(TransportTest, CarriesBytesBothWays) {
    const auto peer = connect();
    peer->say("hello");
    ASSERT_TRUE(run_until([&] { return peer->heard() == "hello"; }));
    EXPECT_EQ(context_->counters().done, 1U);
    EXPECT_EQ(client_->counters().done, 1U);
    ASSERT_NE(sessions_.connection->security(), nullptr);
    EXPECT_EQ(sessions_.connection->security()->version, "TLSv1.3");
    EXPECT_EQ(sessions_.connection->security()->server_name, "localhost");
}

TEST_F(TransportTest, CarriesMegabytesInOrder) {
    std::string sent;
    for (int i = 0; sent.size() < 3'000'000; ++i) sent += std::to_string(i) + ' ';
    const auto peer = connect();
    peer->say(sent);
    ASSERT_TRUE(run_until([&] { return peer->heard().size() >= sent.size(); }));
    EXPECT_TRUE(peer->heard() == sent);
}

TEST_F(TransportTest, AnEndInOrderIsToldAsOneInBothDirections) {
    const auto peer = connect();
    peer->say("hello");
    peer->finish();
    ASSERT_TRUE(run_until([&] { return peer->over() && sessions_.closed.size() == 1; }));
    EXPECT_TRUE(peer->ended());
    EXPECT_EQ(peer->heard(), "hello");
    EXPECT_EQ(sessions_.closed.front(), net::CloseReason::peer_finished);
}

TEST_F(TransportTest, ACutStreamIsNeverAnEnd) {
    const auto peer = connect();
    peer->say("hello");
    ASSERT_TRUE(run_until([&] { return peer->heard() == "hello"; }));
    sessions_.connection->abort();
    ASSERT_TRUE(run_until([&] { return peer->over(); }));
    EXPECT_FALSE(peer->ended());
    EXPECT_TRUE(peer->was_reset());
}

}  // namespace
}  // namespace tiderace::tls
