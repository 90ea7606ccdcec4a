#include "tiderace/http/wire/h2_closed_streams.h"

#include <gtest/gtest.h>

namespace tiderace::http::wire {
namespace {

using State = H2StreamState;

TEST(H2ClosedStreams, RemembersHowAStreamClosed) {
    H2ClosedStreams closed;
    closed.remember(1, State::ended);
    closed.remember(5, State::reset_by_peer);
    closed.remember(0x7fff'ffff, State::reset_by_us);
    EXPECT_EQ(closed.state_of(1, 5), State::ended);
    EXPECT_EQ(closed.state_of(5, 5), State::reset_by_peer);
    EXPECT_EQ(closed.state_of(0x7fff'ffff, 0x7fff'ffff), State::reset_by_us);
}

TEST(H2ClosedStreams, TellsPassedOverFromIdle) {
    H2ClosedStreams closed;
    closed.remember(5, State::ended);
    EXPECT_EQ(closed.state_of(1, 5), State::unknown);
    EXPECT_EQ(closed.state_of(3, 5), State::unknown);
    EXPECT_EQ(closed.state_of(4, 5), State::idle);  // a push that never was
    EXPECT_EQ(closed.state_of(6, 5), State::idle);
    EXPECT_EQ(closed.state_of(7, 5), State::idle);
    EXPECT_EQ(H2ClosedStreams().state_of(1, 1), State::unknown);
}

TEST(H2ClosedStreams, ForgetsTheOldest) {
    H2ClosedStreams closed;
    for (std::uint32_t i = 0; i <= h2_closed_streams_max; ++i) {
        closed.remember(2 * i + 1, State::reset_by_us);
    }
    constexpr std::uint32_t highest = 2 * h2_closed_streams_max + 1;
    EXPECT_EQ(closed.state_of(1, highest), State::unknown);
    for (std::uint32_t stream = 3; stream <= highest; stream += 2) {
        EXPECT_EQ(closed.state_of(stream, highest), State::reset_by_us);
    }
}

}  // namespace
}  // namespace tiderace::http::wire
