#include "tiderace/http/h2/sender.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/scripted_session.h"
#include "tiderace/testing/world.h"

namespace tiderace::http {
namespace {

using wire::H2Error;
using wire::H2FrameType;

std::string frame(H2FrameType type, std::uint32_t stream, const std::string& payload) {
    std::array<char, wire::h2_frame_header_bytes> header;
    wire::write_h2_frame_header(header,
                                {static_cast<std::uint32_t>(payload.size()), type, 0, stream});
    return std::string(header.data(), header.size()) + payload;
}

// A sender on a connection whose peer shows what arrives.
class H2SenderTest : public ::testing::Test {
  protected:
    H2SenderTest() {
        server_.listen(world_->listen());
        peer_ = world_->connect();
        EXPECT_TRUE(world_->run_until([&] { return sessions_.opened == 1; }));
        sender_ = std::make_unique<H2Sender>(*sessions_.connection);
    }

    net::Connection& connection() { return *sessions_.connection; }
    // DATA as an exchange puts it into the queue. `of_file` is recorded; the bytes are in memory.
    void data(std::uint32_t stream, const std::string& payload, bool of_file = false) {
        connection().queue().append(connection().blocks(),
                                    frame(H2FrameType::data, stream, payload));
        sender_->queued_data(payload.size());
        sender_->window().spend(static_cast<std::uint32_t>(payload.size()));
        if (of_file) {
            sender_->queued_file(stream, static_cast<std::uint32_t>(payload.size()));
        }
    }
    // The peer took so many bytes of the queue.
    void leave(std::uint64_t bytes) { connection().queue().consume(bytes); }
    std::string sent() {
        connection().written();
        world_->settle();
        return peer_->heard();
    }

    std::unique_ptr<testing::World> world_ = testing::make_world("fake");
    testing::ScriptedSessions sessions_;
    net::TcpServer server_{world_->loop(), sessions_, {}};
    std::unique_ptr<testing::Peer> peer_;
    std::unique_ptr<H2Sender> sender_;
};

TEST_F(H2SenderTest, WritesNothingOnceTheConnectionEnds) {
    sender_->acknowledge_settings();
    connection().finish();
    sender_->reset(1, H2Error::cancel);
    sender_->window_update(0, 1);
    world_->settle();
    EXPECT_EQ(peer_->heard().size(), wire::h2_settings_ack_bytes);
}

TEST_F(H2SenderTest, IsFullOfBytesOrOfFramesWithFiles) {
    EXPECT_FALSE(sender_->is_full());
    for (std::size_t i = 0; i < H2FileFrames::frames_max; ++i) {
        EXPECT_FALSE(sender_->is_full());
        data(1, "x", true);
    }
    EXPECT_TRUE(sender_->is_full());
    leave(wire::h2_frame_header_bytes + 1);
    EXPECT_FALSE(sender_->is_full());
    EXPECT_TRUE(sender_->window().grow(1'000'000));
    while (connection().queue_bytes() < H2Sender::queue_bytes_wanted) {
        EXPECT_FALSE(sender_->is_full());
        data(1, std::string(16'000, 'x'));
    }
    EXPECT_TRUE(sender_->is_full());
}

TEST_F(H2SenderTest, SendsAtOnceOnlyWhenNoOtherStreamWaits) {
    wire::H2SendWindow stream(100);
    EXPECT_TRUE(sender_->may_send_at_once(stream, 100));
    EXPECT_FALSE(sender_->may_send_at_once(stream, 101));
    sender_->window().spend(sender_->window().available() - 99);
    EXPECT_FALSE(sender_->may_send_at_once(stream, 100));
    EXPECT_TRUE(sender_->may_send_at_once(stream, 99));
}

TEST_F(H2SenderTest, SendsAtOnceNoMoreThanOneFrameAndBehindNoMoreThanTheHighMark) {
    ASSERT_TRUE(sender_->window().grow(10'000'000));
    const wire::H2SendWindow stream(1'000'000);
    EXPECT_TRUE(sender_->may_send_at_once(stream, H2Sender::data_bytes_max));
    EXPECT_FALSE(sender_->may_send_at_once(stream, H2Sender::data_bytes_max + 1));
    const std::size_t high = connection().limits().queue_bytes_high;
    data(1, std::string(high - wire::h2_frame_header_bytes, 'x'));
    ASSERT_EQ(connection().queue_bytes(), high);
    EXPECT_TRUE(sender_->may_send_at_once(stream, 1));
    connection().queue().append(connection().blocks(), "x");
    EXPECT_FALSE(sender_->may_send_at_once(stream, 1));
}

TEST_F(H2SenderTest, MendsTheFrameInFrontAndDropsTheRestOfItsStream) {
    data(1, "file bytes", true);
    data(3, "another's");
    data(1, "never sent");
    sender_->reset(5, H2Error::cancel);
    const auto window = sender_->window().available();
    leave(wire::h2_frame_header_bytes + 4);  // "file" is gone

    const auto mended = sender_->mend_short_file();
    ASSERT_TRUE(mended);
    EXPECT_EQ(mended->stream, 1U);
    EXPECT_FALSE(mended->was_reset);
    EXPECT_TRUE(mended->window_fits);
    EXPECT_EQ(sender_->window().available(), window + 10);
    const std::string heard = sent();
    EXPECT_TRUE(heard.starts_with(std::string(6, '\0') + frame(H2FrameType::data, 3, "another's")));
    EXPECT_EQ(heard.size(), 6 + wire::h2_frame_header_bytes + 9 + wire::h2_rst_stream_bytes);
    EXPECT_FALSE(sender_->mend_short_file()) << "nothing of a file is in the queue any more";
}

// Where the others are in the queue is known when frames before them were dropped.
TEST_F(H2SenderTest, MendsOneFrameBehindAnother) {
    data(1, "file bytes", true);
    data(1, "more of it", true);
    data(3, "another's file", true);
    data(1, "never sent");
    data(5, "in memory");
    leave(wire::h2_frame_header_bytes + 4);
    ASSERT_TRUE(sender_->mend_short_file());
    leave(6);
    EXPECT_FALSE(sender_->mend_short_file()) << "the next frame has its header in front";
    leave(wire::h2_frame_header_bytes + 8);
    const auto mended = sender_->mend_short_file();
    ASSERT_TRUE(mended);
    EXPECT_EQ(mended->stream, 3U);
    leave(6);
    EXPECT_FALSE(sender_->mend_short_file());
    EXPECT_EQ(sent(), frame(H2FrameType::data, 5, "in memory"));
}

TEST_F(H2SenderTest, LeavesWhatIsSaidOfTheStreamsOtherDirection) {
    data(1, "file bytes", true);
    data(1, "dropped");
    sender_->window_update(1, 5);
    leave(wire::h2_frame_header_bytes);
    ASSERT_TRUE(sender_->mend_short_file());
    EXPECT_EQ(sent().size(), 10 + wire::h2_window_update_bytes);
}

TEST_F(H2SenderTest, FindsAWindowThatThePeerOpenedTooFar) {
    data(1, "file bytes", true);
    data(1, "never sent");
    ASSERT_TRUE(sender_->window().grow(wire::h2_window_bytes_max - sender_->window().available()));
    leave(wire::h2_frame_header_bytes);
    const auto mended = sender_->mend_short_file();
    ASSERT_TRUE(mended);
    EXPECT_FALSE(mended->window_fits);
}

TEST_F(H2SenderTest, DropsAFrameWhoseHeaderLiesAcrossTwoBlocks) {
    const std::size_t block = [&] {
        const std::size_t room =
            connection().queue().reserve(connection().blocks(), 1 << 20).size();
        connection().queue().commit(0);
        return room;
    }();
    for (std::size_t left = 1; left < wire::h2_frame_header_bytes; ++left) {
        SCOPED_TRACE(left);
        ASSERT_TRUE(sender_->window().grow(100'000));
        data(1, "file bytes", true);
        data(3, std::string(block - connection().queue_bytes() - left - 9, 'x'));
        data(1, "dropped");
        data(5, "in memory");
        const std::size_t bytes = connection().queue_bytes() - 16;
        leave(wire::h2_frame_header_bytes);
        ASSERT_TRUE(sender_->mend_short_file());
        EXPECT_EQ(connection().queue_bytes(), bytes - wire::h2_frame_header_bytes);
        connection().queue().clear();
    }
}

TEST_F(H2SenderTest, MendsNothingOfAConnectionThatEnds) {
    data(1, "file bytes", true);
    leave(wire::h2_frame_header_bytes);
    connection().finish();
    EXPECT_FALSE(sender_->mend_short_file());
    EXPECT_EQ(connection().queue_bytes(), 10U);
}

TEST_F(H2SenderTest, IsFullAtTheBytesThatAreWanted) {
    ASSERT_TRUE(sender_->window().grow(1'000'000));
    data(1, std::string(H2Sender::queue_bytes_wanted - wire::h2_frame_header_bytes - 1, 'x'));
    EXPECT_FALSE(sender_->is_full());
    connection().queue().append(connection().blocks(), "x");
    EXPECT_TRUE(sender_->is_full());
}

TEST_F(H2SenderTest, CountsItsDataWithoutHeaders) {
    data(1, "file bytes", true);
    data(3, "some");
    sender_->reset(3, H2Error::cancel);
    EXPECT_EQ(sender_->data_sent(), 14U);
}

TEST_F(H2SenderTest, SeesThatTheStreamWasResetAlready) {
    data(1, "file bytes", true);
    sender_->reset(1, H2Error::cancel);
    leave(wire::h2_frame_header_bytes);
    const auto mended = sender_->mend_short_file();
    ASSERT_TRUE(mended);
    EXPECT_TRUE(mended->was_reset);
}

TEST_F(H2SenderTest, MendsNothingBetweenFrames) {
    data(1, "in memory");
    data(3, "file bytes", true);
    EXPECT_FALSE(sender_->mend_short_file());
    EXPECT_EQ(connection().queue_bytes(), 2 * wire::h2_frame_header_bytes + 9 + 10);
}

}  // namespace
}  // namespace tiderace::http
