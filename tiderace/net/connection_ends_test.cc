// A connection's unfinished work behind an end: the peer's, or its own.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/pipe_transport.h"
#include "tiderace/testing/scripted_session.h"
#include "tiderace/testing/transport_peer.h"

namespace tiderace::net {
namespace {

// Notes the calls to the transport below.
class Noting final : public Transport {
  public:
    Noting(std::unique_ptr<Transport> below, std::vector<bool>& receiving)
        : below_(std::move(below)), receiving_(&receiving) {}
    void open(Observer& observer) override { below_->open(observer); }
    void set_receiving(bool on) override {
        receiving_->push_back(on);
        below_->set_receiving(on);
    }
    core::Sent send(core::SendQueue& queue) override { return below_->send(queue); }
    void finish() override { below_->finish(); }
    void close(core::SendQueue&& unsent) override { below_->close(std::move(unsent)); }
    void set_reset_on_close() override { below_->set_reset_on_close(); }

  private:
    std::unique_ptr<Transport> below_;
    std::vector<bool>* receiving_;
};

class ConnectionEnds : public ::testing::Test {
  protected:
    ConnectionEnds() {
        testing::Pipe pipe = testing::make_pipe(world_.loop());
        server_.adopt(std::make_unique<Noting>(std::move(pipe.near), receiving_),
                      core::Address::loopback(1));
        peer_ = std::make_unique<testing::TransportPeer>(world_.loop(), std::move(pipe.far));
        world_.settle();
    }
    Connection& connection() { return *sessions_.connection; }

    testing::FakeWorld world_;
    testing::ScriptedSessions sessions_;
    TcpServer server_{world_.loop(), sessions_, {}};
    std::vector<bool> receiving_;
    std::unique_ptr<testing::TransportPeer> peer_;
};

// Receiving has stopped by itself.
TEST_F(ConnectionEnds, BehindThePeersEndReceivingIsNotStoppedAgain) {
    sessions_.on_peer_finished = [](Connection&) {};
    peer_->finish();
    world_.settle();
    ASSERT_EQ(sessions_.peer_finished, 1);
    connection().set_reading(false);
    connection().set_reading(true);
    world_.settle();
    EXPECT_EQ(receiving_, std::vector<bool>{true});
}

// The bytes that remain unsent are counted when it has closed.
TEST_F(ConnectionEnds, AWriteBehindTheCloseLeavesTheQueueAsItIs) {
    std::uint64_t unsent = 0;
    sessions_.on_close = [&](Connection& closed, CloseReason) { unsent = closed.queue_bytes(); };
    peer_->set_listening(false);
    connection().write(std::string(500'000, 'x'));
    world_.settle();
    const std::uint64_t before = connection().queue_bytes();
    ASSERT_GT(before, 0U);
    connection().close(CloseReason::aborted);
    EXPECT_EQ(connection().write("too late"), Backlog::high);
    world_.settle();
    EXPECT_EQ(unsent, before);
}

TEST_F(ConnectionEnds, AnEmptyWriteIsNoneAlsoBehindTheEnd) {
    connection().finish();
    EXPECT_EQ(connection().write(""), Backlog::low);
    world_.settle();
    EXPECT_TRUE(peer_->ended());
    EXPECT_EQ(peer_->heard(), "");
}

}  // namespace
}  // namespace tiderace::net
