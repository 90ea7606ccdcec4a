#include "tiderace/net/connection_room.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>
#include <vector>

#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/world.h"

namespace tiderace::net {
namespace {

TEST(ConnectionRoom, HasRoomForItsMaximum) {
    ConnectionRoom room(2);
    EXPECT_TRUE(room.enter());
    EXPECT_TRUE(room.enter());
    EXPECT_FALSE(room.enter());
    EXPECT_EQ(room.taken(), 2U);
    room.leave();
    EXPECT_TRUE(room.enter());
    EXPECT_FALSE(room.enter());
}

TEST(ConnectionRoom, CountsThoseThatAreNotRefused) {
    ConnectionRoom room(1);
    room.enter_anyway();
    room.enter_anyway();
    EXPECT_FALSE(room.enter());
    room.leave();
    EXPECT_FALSE(room.enter());
    room.leave();
    EXPECT_TRUE(room.enter());
}

TEST(ConnectionRoom, AnotherMaximumHoldsForNewcomers) {
    ConnectionRoom room(2);
    EXPECT_TRUE(room.enter() && room.enter());
    room.set_connections_max(3);
    EXPECT_TRUE(room.enter());
    EXPECT_FALSE(room.enter());
    room.set_connections_max(1);
    EXPECT_EQ(room.taken(), 3U);
    room.leave();
    room.leave();
    EXPECT_FALSE(room.enter());
    room.leave();
    EXPECT_TRUE(room.enter());
}

TEST(ConnectionRoom, LetsInAsManyAsItHasRoomForFromAllThreadsTogether) {
    constexpr std::size_t connections_max = 1'000;
    ConnectionRoom room(connections_max);
    std::atomic<std::size_t> entered = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 1'000; ++n) entered += room.enter() ? 1 : 0;
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(entered, connections_max);
    EXPECT_EQ(room.taken(), connections_max);
}

// --- whom a full server closes for a newcomer ----------------------------------------------------

// Sends nothing, and is idle or busy as a test sets it.
class Quiet final : public SessionFactory {
  public:
    class One final : public Session {
      public:
        std::size_t on_data(Connection&, ByteView data) override { return data.size(); }
        bool is_idle() const override { return idle; }
        void on_close(Connection&, CloseReason reason) override {
            owner->closed.push_back({number, reason});
            delete this;
        }
        Quiet* owner = nullptr;
        int number = 0;
        bool idle = true;
    };
    Session& make_session(Connection& connection) override {
        auto* const made = new One;
        made->owner = this;
        made->number = static_cast<int>(all.size());
        all.push_back(made);
        connection.set_deadline(connection.loop().now() + 1h - made->number * 1s);
        return *made;
    }
    std::vector<One*> all;
    std::vector<std::pair<int, CloseReason>> closed;
};

class AFullServer : public ::testing::Test {
  protected:
    // Whether it is served.
    bool come(const char* address) {
        const std::uint64_t refused = server_.counters().refused;
        come_to(server_, address);
        world_->settle();
        return server_.counters().refused == refused;
    }
    void come_to(TcpServer& server, const char* address) {
        int pair[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
        peers_.emplace_back(core::system_kernel(), pair[1]);
        server.adopt(pair[0], *core::Address::parse(address));
    }

    std::unique_ptr<testing::World> world_ = testing::make_world("poll");
    Quiet sessions_;
    std::vector<core::Descriptor> peers_;
    std::shared_ptr<ConnectionRoom> room_ = std::make_shared<ConnectionRoom>(4);
    TcpServer server_{world_->loop(), sessions_, {.room = room_}};
};

TEST_F(AFullServer, ClosesTheIdlestOfTheClientThatHasMost) {
    for (const char* each : {"192.0.2.1:1", "192.0.2.2:1", "192.0.2.1:2", "192.0.2.1:3"}) {
        EXPECT_TRUE(come(each));
    }
    EXPECT_FALSE(come("192.0.2.1:4")) << "its own client has most";
    sessions_.all[3]->idle = false;
    EXPECT_TRUE(come("192.0.2.3:1"));
    using Closed = std::vector<std::pair<int, CloseReason>>;
    EXPECT_EQ(sessions_.closed, (Closed{{2, CloseReason::idle_expired}})) << "the next to expire";
    EXPECT_EQ(room_->taken(), 4U);
    EXPECT_EQ(server_.size(), 4U);
    EXPECT_TRUE(come("192.0.2.4:1"));
    EXPECT_FALSE(come("192.0.2.5:1")) << "it would have as many as the one that has most";
}

TEST_F(AFullServer, ClosesNoneThatIsBusyAndLooksSeldom) {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(come("[2001:db8::1]:1"));
    for (auto* each : sessions_.all) each->idle = false;
    EXPECT_FALSE(come("192.0.2.3:1"));
    sessions_.all[0]->idle = true;
    EXPECT_FALSE(come("192.0.2.3:1"));
    world_->advance(100ms);
    EXPECT_TRUE(come("192.0.2.3:1"));
    EXPECT_EQ(sessions_.closed.size(), 1U);
}

TEST_F(AFullServer, LooksForWhoHasMostAmongThoseWithIdleOnes) {
    for (const char* each : {"192.0.2.1:1", "192.0.2.1:2", "192.0.2.2:1", "192.0.2.2:2"}) {
        EXPECT_TRUE(come(each));
    }
    for (const int busy : {0, 1}) sessions_.all[busy]->idle = false;
    EXPECT_TRUE(come("192.0.2.3:1"));
    ASSERT_EQ(sessions_.closed.size(), 1U);
    EXPECT_EQ(sessions_.closed[0].first, 3);
}

// Their places become free at the end of the turn, in which more newcomers may come.
TEST_F(AFullServer, ClosesNoMoreInATurnThanItsNewcomersNeed) {
    TcpServer server(world_->loop(), sessions_, {.connections_max = 130});
    for (int i = 0; i < 130; ++i) come_to(server, "192.0.2.1:1");
    for (const char* each : {"192.0.2.2:1", "192.0.2.3:1", "192.0.2.4:1"}) come_to(server, each);
    world_->settle();
    EXPECT_EQ(sessions_.closed.size(), 3U);
    EXPECT_EQ(server.size(), 130U);
    EXPECT_EQ(server.counters().refused, 0U);
}

TEST_F(AFullServer, PeersOfUnixSocketsMakeNoWay) {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(come("unix:@peer"));
    EXPECT_FALSE(come("192.0.2.3:1"));
}

}  // namespace
}  // namespace tiderace::net
