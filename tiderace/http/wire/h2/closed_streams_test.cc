#include "tiderace/http/wire/h2/closed_streams.h"

#include <gtest/gtest.h>

namespace tiderace::http::wire {
namespace {

using State = H2StreamState;

TEST(H2ClosedStreams, RemembersHowAStreamClosed) {
    H2ClosedStreams closed;
    EXPECT_EQ(closed.highest(), 0U);
    for (const std::uint32_t stream : {1U, 3U, 5U}) closed.open(stream);
    EXPECT_EQ(closed.highest(), 5U);
    closed.remember(5, State::reset_by_peer);
    closed.remember(1, State::ended);
    closed.remember(3, State::reset_by_us);
    EXPECT_EQ(closed.state_of(1), State::ended);
    EXPECT_EQ(closed.state_of(3), State::reset_by_us);
    EXPECT_EQ(closed.state_of(5), State::reset_by_peer);
    closed.remember(1, State::reset_by_us);  // the last state counts
    EXPECT_EQ(closed.state_of(1), State::reset_by_us);
    closed.open(0x7fff'ffff);
    closed.remember(0x7fff'ffff, State::ended);
    EXPECT_EQ(closed.state_of(0x7fff'ffff), State::ended);
}

TEST(H2ClosedStreams, TellsPassedOverFromIdle) {
    H2ClosedStreams closed;
    EXPECT_EQ(closed.state_of(1), State::idle);
    closed.open(5);
    closed.remember(5, State::ended);
    EXPECT_EQ(closed.state_of(1), State::passed_over);
    EXPECT_EQ(closed.state_of(3), State::passed_over);
    EXPECT_EQ(closed.state_of(4), State::idle);  // a push that never was
    EXPECT_EQ(closed.state_of(6), State::idle);
    EXPECT_EQ(closed.state_of(7), State::idle);
}

TEST(H2ClosedStreams, ForgetsTheOldestNumbersOnly) {
    H2ClosedStreams closed;
    std::uint32_t stream = 1;
    for (std::size_t i = 0; i < h2_closed_streams_max; ++i, stream += 2) {
        closed.open(stream);
        closed.remember(stream, State::reset_by_us);
    }
    EXPECT_EQ(closed.state_of(1), State::reset_by_us);
    closed.open(stream);
    EXPECT_EQ(closed.state_of(1), State::forgotten);
    EXPECT_EQ(closed.state_of(3), State::reset_by_us);
    EXPECT_EQ(closed.state_of(stream), State::passed_over) << "it took the place of another";
    closed.remember(1, State::ended);  // closes only now
    EXPECT_EQ(closed.state_of(1), State::forgotten);
    EXPECT_EQ(closed.state_of(stream), State::passed_over);
}

// A jump over fewer numbers than are remembered, over as many, and over more.
TEST(H2ClosedStreams, ALeapForgetsAndPassesOver) {
    for (const std::uint32_t leap : {1'022U, 1'023U, 1'024U, 1'025U, 5'000U}) {
        SCOPED_TRACE(leap);
        H2ClosedStreams closed;
        for (std::uint32_t stream = 1; stream <= 2'047; stream += 2) {
            closed.open(stream);
            closed.remember(stream, State::ended);
        }
        const std::uint32_t to = 2'047 + 2 * leap;
        closed.open(to);
        EXPECT_EQ(closed.state_of(2'047), leap < 1'024 ? State::ended : State::forgotten);
        EXPECT_EQ(closed.state_of(to - 2 * 1'023),
                  leap < 1'024 ? State::ended : State::passed_over);
        EXPECT_EQ(closed.state_of(to - 2 * 1'024), State::forgotten);
        EXPECT_EQ(closed.state_of(to - 2), State::passed_over);
        EXPECT_EQ(closed.state_of(2'049), leap <= 1'024 ? State::passed_over : State::forgotten);
    }
}

}  // namespace
}  // namespace tiderace::http::wire
