// Progress of an answer, and of a peer: which of it must be forgotten in time, is reported once,
// and is passed to another Session.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>

#include "tiderace/net/connection.h"
#include "tiderace/testing/scripted_session.h"
#include "tiderace/testing/world.h"

namespace tiderace::net {
namespace {

constexpr ByteView asked = "asked";

struct KeptFrame final : core::Shared {};
const std::string& plenty() {
    static const std::string bytes(32 << 20, 'x');  // more than any socket's buffers
    return bytes;
}
Backlog send_plenty(Connection& connection) {
    connection.queue().append_shared(plenty(), core::make_ref<KeptFrame>());
    return connection.written();
}

class EveryProgress : public ::testing::TestWithParam<std::string> {
  protected:
    void start(ConnectionLimits limits = {}) {
        server_.emplace(world_->loop(), sessions_, TcpServerOptions{.connection = limits});
        server_->listen(world_->listen());
        peer_ = world_->connect();
        ASSERT_TRUE(world_->run_until([&] { return sessions_.opened == 1; }));
    }
    void expect_closed(CloseReason reason) {
        ASSERT_TRUE(world_->run_until([&] { return !sessions_.closed.empty(); }));
        EXPECT_EQ(sessions_.closed, std::vector{reason}) << to_string(sessions_.closed[0]);
    }

    std::unique_ptr<testing::World> world_ = testing::make_world(GetParam());
    testing::ScriptedSessions sessions_;
    std::optional<TcpServer> server_;
    std::unique_ptr<testing::Peer> peer_;
};

INSTANTIATE_TEST_SUITE_P(Engines, EveryProgress, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(EveryProgress, AnAnswerThatIsTakenInTheEndLeavesNoDeadlineBehind) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        send_plenty(connection);
        return data.size();
    };
    start({.write = 10s});
    peer_->set_listening(false);
    peer_->say(asked);
    ASSERT_TRUE(world_->run_until([&] { return sessions_.received == asked; }));
    world_->settle();
    peer_->set_listening(true);
    ASSERT_TRUE(world_->run_until([&] { return peer_->heard().size() == plenty().size(); }));
    world_->settle();
    EXPECT_EQ(sessions_.connection->bytes_sent(), plenty().size());
    world_->advance(60s);
    EXPECT_TRUE(sessions_.closed.empty()) << to_string(sessions_.closed[0]);
}

TEST_P(EveryProgress, ALimitOfWritingMayBeNever) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        send_plenty(connection);
        return data.size();
    };
    start({.write = Duration::max()});
    peer_->set_listening(false);
    peer_->say(asked);
    ASSERT_TRUE(world_->run_until([&] { return sessions_.received == asked; }));
    world_->advance(60s);
    ASSERT_TRUE(sessions_.closed.empty()) << to_string(sessions_.closed[0]);
    peer_->set_listening(true);
    EXPECT_TRUE(world_->run_until([&] { return peer_->heard().size() == plenty().size(); }));
}

TEST_P(EveryProgress, ALimitOfLingeringMayBeNever) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        connection.finish();
        return data.size();
    };
    start({.linger = Duration::max()});
    peer_->say(asked);
    ASSERT_TRUE(world_->run_until([&] { return peer_->ended(); }));
    world_->advance(60s);
    ASSERT_TRUE(sessions_.closed.empty()) << to_string(sessions_.closed[0]);
    peer_->finish();
    expect_closed(CloseReason::finished);
}

TEST_P(EveryProgress, CountsTheBytesThatItSent) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        connection.write("answer");
        return data.size();
    };
    start();
    for (std::size_t answers = 1; answers <= 3; ++answers) {
        peer_->say(asked);
        ASSERT_TRUE(world_->run_until([&] { return peer_->heard().size() == 6 * answers; }));
        world_->settle();
        EXPECT_EQ(sessions_.connection->bytes_sent(), 6 * answers);
    }
}

TEST_P(EveryProgress, ClosesWhenItHoldsMostOfTheLoopsBlocks) {
    world_->loop().blocks().set_bytes_max(1_MiB);
    sessions_.on_data = [](Connection& connection, ByteView data) {
        connection.write(std::string(16_MiB, 'x'));  // more than a socket's buffers, copied
        return data.size();
    };
    start({.queue_bytes_max = 64_MiB, .queue_bytes_high = 32_MiB});
    peer_->set_listening(false);
    peer_->say(asked);
    expect_closed(CloseReason::send_memory_full);
    EXPECT_LE(world_->loop().blocks().taken_bytes(), 1_MiB);
    peer_->set_listening(true);
    ASSERT_TRUE(world_->run_until([&] { return peer_->over(); }));
    EXPECT_TRUE(peer_->was_reset());
}

TEST_P(EveryProgress, ThePeersEndIsReportedOnceHoweverOftenBytesAreGivenAgain) {
    sessions_.on_data = [](Connection&, ByteView) { return std::size_t{0}; };
    sessions_.on_peer_finished = [](Connection&) {};
    start();
    peer_->say(asked);
    peer_->finish();
    ASSERT_TRUE(world_->run_until([&] { return sessions_.peer_finished == 1; }));
    for (int i = 0; i < 2; ++i) {
        sessions_.connection->deliver_unread_later();
        world_->settle();
    }
    EXPECT_GE(sessions_.deliveries.size(), 3U);
    EXPECT_EQ(sessions_.peer_finished, 1);
}

TEST_P(EveryProgress, ThePeersEndIsNotReportedBeforeBytesThatThePauseHoldsBack) {
    bool ended = false;
    sessions_.on_data = [&](Connection& connection, ByteView data) {
        // At first all is left unread; what comes with the end turns reading off.
        if (ended) connection.set_reading(false);
        return ended || !connection.peer_finished() ? std::size_t{0} : data.size();
    };
    sessions_.on_peer_finished = [](Connection&) {};
    start();
    peer_->say(asked);
    ASSERT_TRUE(world_->run_until([&] { return !sessions_.deliveries.empty(); }));
    ended = true;
    peer_->finish();
    world_->settle();
    EXPECT_EQ(sessions_.peer_finished, 0);
    ended = false;
    sessions_.connection->set_reading(true);
    ASSERT_TRUE(world_->run_until([&] { return sessions_.peer_finished == 1; }));
    EXPECT_EQ(sessions_.received, asked);
}

TEST_P(EveryProgress, ThePeersEndIsNotReportedAfterFinish) {
    sessions_.on_data = [](Connection& connection, ByteView data) {
        connection.finish();
        return data.size();
    };
    start();
    sessions_.connection->set_reading(false);
    peer_->say(asked);
    peer_->finish();
    world_->settle();
    sessions_.connection->set_reading(true);
    expect_closed(CloseReason::finished);
    EXPECT_EQ(sessions_.peer_finished, 0);
}

struct Upgraded final : Session {
    std::size_t on_data(Connection&, ByteView data) override {
        received += data;
        return data.size();
    }
    void on_close(Connection&, CloseReason) override { ++closed; }

    std::string received;
    int closed = 0;
};

TEST_P(EveryProgress, AnotherSessionGetsWhatTheFirstLeft) {
    Upgraded upgraded;
    sessions_.on_data = [&](Connection& connection, ByteView) {
        connection.replace_session(upgraded);
        return std::size_t{8};
    };
    start();
    peer_->say("upgrade:new protocol");
    EXPECT_TRUE(world_->run_until([&] { return upgraded.received == "new protocol"; }));
    peer_->say(" more");
    EXPECT_TRUE(world_->run_until([&] { return upgraded.received == "new protocol more"; }));
    peer_->finish();
    EXPECT_TRUE(world_->run_until([&] { return upgraded.closed == 1; }));
    EXPECT_TRUE(sessions_.closed.empty());
}

TEST_P(EveryProgress, ReadingTurnedOffAndOnInsideACallGivesNothingAgain) {
    sessions_.on_data = [](Connection& connection, ByteView) {
        connection.set_reading(false);
        connection.set_reading(true);
        return std::size_t{0};
    };
    start();
    peer_->say("a");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.deliveries.size() == 1; }));
    peer_->say("b");
    ASSERT_TRUE(world_->run_until([&] { return sessions_.deliveries.size() == 2; }));
    world_->settle();
    EXPECT_EQ(sessions_.deliveries, (std::vector<std::string>{"a", "ab"}));
}

// The bytes that a Session queues in place of a shortened file leave without another event.
TEST_P(EveryProgress, WhatTakesThePlaceOfAShortFileIsSent) {
    struct Short final : core::SharedFile {
        Short() : fd(::memfd_create("short", 0)) { EXPECT_EQ(::ftruncate(fd, 100), 0); }
        ~Short() override { ::close(fd); }
        int descriptor() const override { return fd; }
        int fd;
    };
    sessions_.on_data = [](Connection& connection, ByteView data) {
        connection.queue().append_file(core::make_ref<Short>(), 0, 101);
        connection.written();
        return data.size();
    };
    sessions_.on_source_shrank = [](Connection& connection) {
        connection.queue().clear();
        connection.queue().append(connection.blocks(), "instead");
        return true;
    };
    start();
    peer_->say(asked);
    const std::string all = std::string(100, '\0') + "instead";
    EXPECT_TRUE(world_->run_until([&] { return peer_->heard() == all; }));
    EXPECT_TRUE(sessions_.closed.empty());
}

}  // namespace
}  // namespace tiderace::net
