// How a connection uses its transport, and how it follows the transport's reports. The test drives
// the transport.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::net {
namespace {

// The far side of a Driven, which the test looks at and which outlives it.
struct Wire {
    Transport::Observer* observer = nullptr;
    std::string sent;
    std::size_t room = SIZE_MAX;  // so much more is taken
    bool keeps = false;           // it takes bytes and does not pass them on yet
    std::uint64_t held = 0;
    bool ended_in_order = false;
    bool was_reset = false;
};

class Driven final : public Transport {
  public:
    explicit Driven(Wire& wire) : wire_(&wire) {}
    void open(Observer& observer) override { wire_->observer = &observer; }
    void set_receiving(bool) override {}
    core::Sent send(core::SendQueue& queue) override {
        const std::size_t before = wire_->sent.size();
        for (std::array<iovec, 1> piece; wire_->room > 0 && queue.gather(piece) == 1;) {
            const std::size_t bytes = std::min(piece[0].iov_len, wire_->room);
            wire_->sent.append(static_cast<const char*>(piece[0].iov_base), bytes);
            wire_->room -= bytes;
            queue.consume(bytes);
        }
        return {.bytes = wire_->sent.size() - before, .pending = wire_->keeps || !queue.empty()};
    }
    void finish() override {}
    void say_end() override { wire_->ended_in_order = true; }
    void close(core::SendQueue&& unsent) override {
        const core::SendQueue dropped(std::move(unsent));
    }
    void set_reset_on_close() override { wire_->was_reset = true; }
    std::uint64_t held_bytes() const override { return wire_->held; }

  private:
    Wire* wire_;
};

class ConnectionOverItsTransport : public ::testing::Test, private SessionFactory, private Session {
  protected:
    void start(ConnectionLimits limits = {}) {
        server_.reset();
        wire_ = {};
        given_.clear();
        closed_.clear();
        server_.emplace(world_.loop(), static_cast<SessionFactory&>(*this),
                        TcpServerOptions{.connection = limits});
        connection_ = server_->adopt(std::make_unique<Driven>(wire_), core::Address::loopback(1));
        world_.settle();
    }
    Connection& connection() { return *connection_; }
    void receive(ByteView bytes) {
        wire_.observer->on_received(bytes);
        world_.settle();
    }
    // There is room again. The transport reports it without a number of bytes.
    void make_room() {
        wire_.room = SIZE_MAX;
        wire_.keeps = false;
        wire_.observer->on_sent(0);
        world_.settle();
    }

    testing::FakeWorld world_;
    Wire wire_;
    std::vector<std::size_t> uses_;   // of each delivery so many bytes; then all
    std::vector<std::string> given_;  // each delivery
    core::HeldBytes held_;            // by the session
    std::vector<CloseReason> closed_;
    int peer_ends_ = 0;
    bool ends_ = false;  // with the next delivery
    std::optional<TcpServer> server_;

  private:
    Session& make_session(Connection&) override { return *this; }
    std::size_t on_data(Connection& connection, ByteView data) override {
        given_.emplace_back(data);
        if (ends_) connection.close_when_sent();
        if (uses_.empty()) return data.size();
        const std::size_t used = uses_.front();
        uses_.erase(uses_.begin());
        return used;
    }
    void on_peer_finished(Connection&) override { ++peer_ends_; }
    void on_close(Connection&, CloseReason reason) override { closed_.push_back(reason); }
    core::HeldBytes held_bytes() const override { return held_; }

    Connection* connection_ = nullptr;
};

// --- sending ---------------------------------------------------------------------------------

TEST_F(ConnectionOverItsTransport, ReadinessWithoutANumberOfBytesIsNoFailure) {
    start();
    wire_.room = 0;
    connection().write("text");
    world_.settle();
    EXPECT_EQ(wire_.sent, "");
    make_room();
    EXPECT_EQ(wire_.sent, "text");
    EXPECT_TRUE(closed_.empty());
}

TEST_F(ConnectionOverItsTransport, AQueueAtItsHighMarkPushesNothingBack) {
    start({.queue_bytes_high = 10, .queue_bytes_low = 5});
    wire_.room = 0;
    EXPECT_EQ(connection().write("0123456789"), Backlog::low);
    EXPECT_EQ(connection().write("x"), Backlog::high);
}

TEST_F(ConnectionOverItsTransport, AQueueOfItsMaximumIsKept) {
    start({.queue_bytes_max = 10});
    wire_.room = 0;
    connection().write("0123456789");
    world_.settle();
    EXPECT_TRUE(closed_.empty());
    connection().write("x");
    world_.settle();
    EXPECT_EQ(closed_, std::vector{CloseReason::queue_overflow});
}

TEST_F(ConnectionOverItsTransport, WhatIsStillToBeSentOutlastsThePeersEnd) {
    start();
    wire_.room = 3;
    connection().write("abcdef");
    connection().finish();
    world_.settle();
    receive({});
    EXPECT_TRUE(closed_.empty());
    make_room();
    EXPECT_EQ(wire_.sent, "abcdef");
    EXPECT_EQ(closed_, std::vector{CloseReason::peer_finished});
}

// --- receiving -------------------------------------------------------------------------------

TEST_F(ConnectionOverItsTransport, OneByteThatIsUsedDoesNotComeAgain) {
    start();
    uses_ = {0, 1, 1, 4};
    for (const char* bytes : {"abc", "d", "e"}) receive(bytes);
    EXPECT_EQ(given_, (std::vector<std::string>{"abc", "abcd", "bcde"}));
}

TEST_F(ConnectionOverItsTransport, WhatIsUnreadStaysWholeWhileReadingIsOff) {
    start();
    uses_ = {0};
    receive("abc");
    connection().deliver_unread_later();
    connection().set_reading(false);
    world_.settle();
    EXPECT_EQ(given_.size(), 1U);
    connection().set_reading(true);
    world_.settle();
    EXPECT_EQ(given_, (std::vector<std::string>{"abc", "abc"}));
}

TEST_F(ConnectionOverItsTransport, AsManyUnreadBytesAsItsMaximumAreKept) {
    start({.unread_bytes_max = 10});
    uses_ = {0, 0};
    receive("0123456789");
    EXPECT_TRUE(closed_.empty());
    receive("x");
    EXPECT_EQ(closed_, std::vector{CloseReason::unread_overflow});
}

// The session reads, and has seen them.
TEST_F(ConnectionOverItsTransport, ThePeersEndIsReportedBehindBytesThatAreNotUsed) {
    start();
    uses_ = {0, 0, 0};
    receive("abc");
    receive({});
    EXPECT_EQ(peer_ends_, 1);
}

TEST_F(ConnectionOverItsTransport, AnEndBehindBytesThatWereAllUsedComesAtOnce) {
    start();
    ends_ = true;
    receive("the last request");
    EXPECT_EQ(closed_, std::vector{CloseReason::finished});
}

// --- what it holds ---------------------------------------------------------------------------

TEST_F(ConnectionOverItsTransport, HoldsWhatItsTransportAndItsSessionHold) {
    start();
    const core::HeldBytes before = connection().held_bytes();
    wire_.held = 100;
    held_ = {.copied = 7, .shared = 5};
    EXPECT_EQ(connection().held_bytes().copied, before.copied + 107);
    EXPECT_EQ(connection().held_bytes().shared, before.shared + 5);
}

TEST_F(ConnectionOverItsTransport, WaitsSinceThePeerTookTooLittle) {
    start({.write = 30s});
    world_.advance(7s);
    EXPECT_EQ(connection().held_bytes().waits, Duration::zero());
    wire_.room = 0;
    connection().write("text");
    world_.settle();
    world_.advance(5s);
    EXPECT_EQ(connection().held_bytes().waits / 1s, 5);
    make_room();
    EXPECT_EQ(connection().held_bytes().waits, Duration::zero());
}

// --- its end ---------------------------------------------------------------------------------

enum class Left { nothing, in_the_queue, in_the_transport };

class EveryLeft : public ConnectionOverItsTransport, public ::testing::WithParamInterface<Left> {
  protected:
    void start_with_what_is_left() {
        start();
        wire_.keeps = GetParam() == Left::in_the_transport;
        if (GetParam() == Left::in_the_transport) connection().write("text");
        world_.settle();
        if (GetParam() == Left::in_the_queue) connection().write("text");
    }
};

INSTANTIATE_TEST_SUITE_P(Lefts, EveryLeft,
                         ::testing::Values(Left::nothing, Left::in_the_queue,
                                           Left::in_the_transport));

TEST_P(EveryLeft, IsCutOffVisiblyByAStop) {
    start_with_what_is_left();
    server_->abort_all();
    world_.settle();
    EXPECT_EQ(closed_, std::vector{CloseReason::server_stopped});
    EXPECT_EQ(wire_.was_reset, GetParam() != Left::nothing);
    EXPECT_FALSE(wire_.ended_in_order);
}

TEST_P(EveryLeft, LeavesNoOrderlyEndToAnIdleConnection) {
    start_with_what_is_left();
    connection().close(CloseReason::idle_expired);
    world_.settle();
    EXPECT_EQ(closed_, std::vector{CloseReason::idle_expired});
    EXPECT_EQ(wire_.ended_in_order, GetParam() == Left::nothing);
}

}  // namespace
}  // namespace tiderace::net
