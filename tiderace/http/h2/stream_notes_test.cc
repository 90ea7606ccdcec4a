#include "tiderace/http/h2/stream_notes.h"

#include <gtest/gtest.h>

#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

class StreamNotes : public testing::H2Test {};

INSTANTIATE_TEST_SUITE_P(Worlds, StreamNotes, ::testing::Values("fake"));

TEST_P(StreamNotes, AreNewForEachRequestOfAnExchange) {
    const auto exchange = core::make_ref<H2Exchange>(stage_->service());
    H2StreamNotes& notes = *exchange;
    notes.state = wire::H2StreamState::ended;
    notes.send_window = wire::H2SendWindow(1);
    notes.body_due = notes.write_due = notes.write_since = world_->loop().now();
    notes.body_mark = notes.write_mark = notes.connection_mark = 1;
    notes.window_was_closed = notes.socket_was_behind = notes.stepping = true;
    exchange->recycle();
    EXPECT_EQ(notes.state, wire::H2StreamState::idle);
    EXPECT_EQ(notes.send_window.available(), 65'535U);
    EXPECT_EQ(notes.body_due, Instant::max());
    EXPECT_EQ(notes.write_due, Instant::max());
    EXPECT_EQ(notes.write_since, Instant());
    EXPECT_EQ(notes.body_mark + notes.write_mark + notes.connection_mark, 0U);
    EXPECT_FALSE(notes.window_was_closed || notes.socket_was_behind || notes.stepping);
}

}  // namespace
}  // namespace tiderace::http
