#include "tiderace/testing/pipe_transport.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "tiderace/testing/echo_session.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/transport_peer.h"

namespace tiderace::testing {
namespace {

struct Recorder final : net::Transport::Observer {
    void on_received(ByteView bytes) override {
        if (bytes.empty()) {
            ended = true;
        } else {
            deliveries.emplace_back(bytes);
        }
    }
    void on_receive_failed(int error) override { failed = error; }
    void on_sent(std::int64_t result) override { sent.push_back(result); }

    std::vector<std::string> deliveries;
    std::vector<std::int64_t> sent;
    int failed = 0;
    bool ended = false;
};

class PipeTest : public ::testing::Test {
  protected:
    PipeTest() {
        pipe_.near->open(near_);
        pipe_.far->open(far_);
    }
    core::Sent send(ByteView text) {
        queue_.append(world_.loop().blocks(), text);
        return pipe_.near->send(queue_);
    }

    FakeWorld world_;
    Recorder near_, far_;
    core::SendQueue queue_;
    Pipe pipe_ = make_pipe(world_.loop(), {.capacity = 8, .bytes_per_delivery_max = 4});
};

TEST_F(PipeTest, DeliversInALaterTurnAndInBoundedPieces) {
    pipe_.far->set_receiving(true);
    const core::Sent sent = send("hello");
    EXPECT_EQ(sent.bytes, 5U);
    EXPECT_FALSE(sent.pending);
    EXPECT_TRUE(far_.deliveries.empty());
    world_.settle();
    EXPECT_EQ(far_.deliveries, (std::vector<std::string>{"hell", "o"}));
}

TEST_F(PipeTest, TakesTheRestItselfWhenThereIsRoomAndTellsHowMuch) {
    const core::Sent sent = send("0123456789");
    EXPECT_EQ(sent.bytes, 8U);
    EXPECT_TRUE(sent.pending);
    world_.settle();
    EXPECT_TRUE(near_.sent.empty());
    pipe_.far->set_receiving(true);
    world_.settle();
    EXPECT_EQ(near_.sent, std::vector<std::int64_t>{2});
    EXPECT_TRUE(queue_.empty());
    EXPECT_EQ(far_.deliveries.back(), "89");
}

TEST_F(PipeTest, AnEndIsReportedOnceAndAfterTheBytes) {
    send("last");
    pipe_.near->finish();
    pipe_.far->set_receiving(true);
    world_.settle();
    EXPECT_EQ(far_.deliveries, std::vector<std::string>{"last"});
    EXPECT_TRUE(far_.ended);
    far_.ended = false;
    pipe_.far->set_receiving(true);
    world_.settle();
    EXPECT_FALSE(far_.ended);
}

TEST_F(PipeTest, AClosedEndBreaksASendThatWaits) {
    EXPECT_TRUE(send("0123456789").pending);
    pipe_.far->close({});
    world_.settle();
    EXPECT_EQ(near_.sent, std::vector<std::int64_t>{-EPIPE});
    EXPECT_EQ(near_.failed, -ECONNRESET);  // it had not read what we sent
    queue_.clear();
}

TEST_F(PipeTest, AResetDropsWhatWasOnItsWay) {
    pipe_.far->set_receiving(true);
    send("lost");
    pipe_.near->set_reset_on_close();
    pipe_.near->close({});
    world_.settle();
    EXPECT_TRUE(far_.deliveries.empty());
    EXPECT_EQ(far_.failed, -ECONNRESET);
}

TEST_F(PipeTest, SendsFileRangesAndNoticesAShorterFile) {
    struct MemoryFile final : core::SharedFile {
        explicit MemoryFile(int fd) : fd_(fd) {}
        int descriptor() const override { return fd_; }
        int fd_;
    };
    const int fd = world_.network().make_file("contents");
    pipe_.far->set_receiving(true);
    queue_.append_file(core::make_ref<MemoryFile>(fd), 3, 5);
    EXPECT_EQ(pipe_.near->send(queue_).bytes, 5U);
    world_.settle();
    EXPECT_EQ(far_.deliveries, (std::vector<std::string>{"tent", "s"}));
    queue_.append_file(core::make_ref<MemoryFile>(fd), 8, 5);
    EXPECT_EQ(pipe_.near->send(queue_).error, -EBADMSG);
    queue_.clear();
}

TEST(PipeSession, AServersSessionRunsOnItUnchanged) {
    FakeWorld world;
    EchoSessions sessions;
    net::TcpServer server(world.loop(), sessions, {});
    Pipe pipe = make_pipe(world.loop(), {.capacity = 100});
    server.adopt(std::move(pipe.near), core::Address::loopback(1));
    TransportPeer peer(world.loop(), std::move(pipe.far));
    const std::string much(20'000, 'x');
    peer.say(much);
    peer.finish();
    ASSERT_TRUE(world.run_until([&] { return peer.over(); }));
    EXPECT_EQ(peer.heard(), much);
    EXPECT_EQ(sessions.reasons[net::CloseReason::peer_finished], 1U);
}

}  // namespace
}  // namespace tiderace::testing
