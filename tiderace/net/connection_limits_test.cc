// A connection's limits for the peer and the engine, where the fixture of
// connection_test.cc is not what it takes: exact paces, a pipe, descriptor numbers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tiderace/core/process_limits.h"
#include "tiderace/net/connection.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/pipe_transport.h"
#include "tiderace/testing/scripted_session.h"
#include "tiderace/testing/transport_peer.h"

namespace tiderace::net {
namespace {

struct RateCase {
    Duration period;
    std::uint64_t bytes_per_second_min;
    std::size_t peer_bytes_per_second;
    CloseReason reason;
};

class EveryRate : public ::testing::TestWithParam<RateCase> {};

INSTANTIATE_TEST_SUITE_P(
    Rates, EveryRate,
    ::testing::Values(RateCase{10s, 0, 10, CloseReason::finished},
                      RateCase{10s, 1'000, 1'100, CloseReason::finished},
                      RateCase{10s, 1'000, 500, CloseReason::write_stalled},
                      // The rate is a second's also where the period is a part of one.
                      RateCase{500ms, 1'000, 1'100, CloseReason::finished},
                      RateCase{500ms, 1'000, 500, CloseReason::write_stalled},
                      RateCase{1500ms, 1'000, 1'100, CloseReason::finished},
                      RateCase{1500ms, 1'000, 500, CloseReason::write_stalled}));

TEST_P(EveryRate, IsAskedOfThePeer) {
    const RateCase& rate = GetParam();
    testing::FakeWorld world(testing::FaultPlan{.buffer_bytes = 10});
    testing::ScriptedSessions sessions;
    sessions.on_data = [](Connection& connection, ByteView data) {
        connection.write(std::string(20'000, 'x'));
        connection.close_when_sent();
        return data.size();
    };
    TcpServer server(world.loop(), sessions,
                     {.connection = {.write = rate.period,
                                     .send_bytes_per_second_min = rate.bytes_per_second_min}});
    server.listen(world.listen());
    const auto peer = world.connect_fake();
    peer->set_hearing_pace({.bytes = 10, .every = Duration(10s) / rate.peer_bytes_per_second});
    peer->say("question");
    ASSERT_TRUE(world.run_until([&] { return !sessions.closed.empty(); }));
    EXPECT_EQ(sessions.closed[0], rate.reason)
        << to_string(sessions.closed[0]) << " after " << world.elapsed() / 1ms << " ms";
    if (rate.reason == CloseReason::finished) return;
    // One period, half of one for what it took in it, a quarter for what it took in that, ...
    EXPECT_LE(world.elapsed(), 2 * rate.period + 100ms);
}

// Bytes that a peer took buy time, but a fast start no more than ten periods.
TEST(FakeConnection, AReaderThatIsFastAtFirstAndThenSlowIsCutOffInTime) {
    testing::FakeWorld world(testing::FaultPlan{.buffer_bytes = 1'000});
    testing::ScriptedSessions sessions;
    sessions.on_data = [](Connection& connection, ByteView data) {
        connection.write(std::string(200'000, 'x'));
        return data.size();
    };
    TcpServer server(world.loop(), sessions,
                     {.connection = {.write = 10s, .send_bytes_per_second_min = 500}});
    server.listen(world.listen());
    const auto peer = world.connect_fake();
    peer->set_hearing_pace({.bytes = 1'000, .every = 20ms});
    peer->say("question");
    ASSERT_TRUE(world.run_until([&] { return peer->heard().size() >= 100'000; }));
    const Duration fast = world.elapsed();
    EXPECT_LE(fast, 3s);
    peer->set_hearing_pace({.bytes = 10, .every = 100ms});
    ASSERT_TRUE(world.run_until([&] { return !sessions.closed.empty(); }));
    EXPECT_EQ(sessions.closed[0], CloseReason::write_stalled) << to_string(sessions.closed[0]);
    EXPECT_GE(world.elapsed() - fast, 90s);
    EXPECT_LE(world.elapsed() - fast, 140s);
}

// A TCP window opens in steps: 64 KiB at a time on the loopback, and a sixteenth of the receive
// buffer elsewhere.
TEST(FakeConnection, AReaderWhoseWindowOpensInLargeStepsKeepsItsDownload) {
    for (const std::size_t piece : {100'000U, 4'000'000U}) {
        SCOPED_TRACE(piece);
        testing::FakeWorld world(testing::FaultPlan{.buffer_bytes = 65'536});
        testing::ScriptedSessions sessions;
        std::size_t left = 4'000'000;
        const auto write = [&](Connection& connection) {
            if (left == 0) return;
            connection.write(std::string(piece, 'x'));
            left -= piece;
            if (left == 0) connection.close_when_sent();
        };
        sessions.on_data = [&](Connection& connection, ByteView data) {
            write(connection);
            connection.want_drained();
            return data.size();
        };
        sessions.on_drained = [&](Connection& connection) {
            write(connection);
            connection.want_drained();
        };
        TcpServer server(
            world.loop(), sessions,
            {.connection = {
                 .queue_bytes_max = 8_MiB, .write = 30s, .send_bytes_per_second_min = 256}});
        server.listen(world.listen());
        const auto peer = world.connect_fake();
        peer->set_hearing_pace({.bytes = 65'536, .every = 250s});
        peer->say("question");
        ASSERT_TRUE(world.run_until([&] { return !sessions.closed.empty(); }));
        EXPECT_EQ(sessions.closed[0], CloseReason::finished)
            << to_string(sessions.closed[0]) << " after " << world.elapsed() / 1s << " s";
    }
}

// A system takes a hundred kilobytes at once, in several sends, and its program reads them for a
// minute before the window opens again.
TEST(FakeConnection, WhatAReaderTookBeforeItLaggedBuysTimeToo) {
    testing::FakeWorld world(testing::FaultPlan{.buffer_bytes = 65'536});
    testing::ScriptedSessions sessions;
    sessions.on_data = [](Connection& connection, ByteView data) {
        connection.write(std::string(51'200, 'x'));
        return data.size();
    };
    TcpServer server(world.loop(), sessions,
                     {.connection = {.write = 30s, .send_bytes_per_second_min = 256}});
    server.listen(world.listen());
    const auto peer = world.connect_fake();
    peer->say("question");
    ASSERT_TRUE(world.run_until([&] { return peer->heard().size() == 51'200; }));
    peer->set_listening(false);
    sessions.connection->write(std::string(1'000'000, 'x'));
    ASSERT_TRUE(world.run_until([&] { return !sessions.closed.empty(); }));
    EXPECT_EQ(sessions.closed[0], CloseReason::write_stalled);
    EXPECT_EQ(world.elapsed() / 1s, 30 + 51'200 / 256);
}

TEST(FakeConnection, AReaderThatTakesNothingIsCutOffAfterTheTime) {
    testing::FakeWorld world(testing::FaultPlan{.buffer_bytes = 65'536});
    testing::ScriptedSessions sessions;
    sessions.on_data = [](Connection& connection, ByteView data) {
        connection.write(std::string(1'000'000, 'x'));
        return data.size();
    };
    TcpServer server(world.loop(), sessions,
                     {.connection = {.write = 30s, .send_bytes_per_second_min = 256}});
    server.listen(world.listen());
    const auto peer = world.connect_fake();
    peer->set_listening(false);
    peer->say("question");
    ASSERT_TRUE(world.run_until([&] { return !sessions.closed.empty(); }));
    EXPECT_EQ(sessions.closed[0], CloseReason::write_stalled);
    EXPECT_EQ(world.elapsed() / 1s, 30);
}

// The mark itself is low: nothing else would ever come of it.
TEST(PipeConnection, IsDrainedWhereTheQueueFallsToTheLowMarkAndNoFurther) {
    testing::FakeWorld world;
    testing::ScriptedSessions sessions;
    TcpServer server(world.loop(), sessions,
                     {.connection = {.queue_bytes_high = 150, .queue_bytes_low = 100}});
    testing::Pipe pipe = testing::make_pipe(world.loop(), {.capacity = 100});
    server.adopt(std::move(pipe.near), core::Address::loopback(1));
    EXPECT_EQ(sessions.connection->write(std::string(201, 'x')), Backlog::high);
    world.settle();
    EXPECT_EQ(sessions.connection->queue_bytes(), 101U);
    EXPECT_EQ(sessions.drained, 0);
    testing::Pipe other = testing::make_pipe(world.loop(), {.capacity = 100});
    server.adopt(std::move(other.near), core::Address::loopback(1));
    EXPECT_EQ(sessions.connection->write(std::string(200, 'x')), Backlog::high);
    world.settle();
    EXPECT_EQ(sessions.connection->queue_bytes(), 100U);
    EXPECT_EQ(sessions.drained, 1);
}

// A send is pending from the first bytes on that the kernel does not take: bytes written after
// that must also push back on the peer.
class EchoToADeafPeer : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, EchoToADeafPeer, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(EchoToADeafPeer, StopsReadingAtTheHighMark) {
    const auto world = testing::make_world(GetParam());
    testing::ScriptedSessions sessions;
    sessions.on_data = [](Connection& connection, ByteView data) {
        connection.write(data);
        return data.size();
    };
    TcpServer server(world->loop(), sessions, {});
    server.listen(world->listen());
    const auto peer = world->connect();
    peer->set_listening(false);
    constexpr std::size_t bytes = 32_MiB;  // more than the sockets of both ends hold
    for (int i = 0; i < 32; ++i) peer->say(std::string(bytes / 32, 'x'));
    for (int i = 0; i < 1'000; ++i) world->loop().turn(Duration::zero());
    ASSERT_TRUE(sessions.closed.empty()) << to_string(sessions.closed[0]);
    EXPECT_LE(sessions.connection->queue_bytes(),
              sessions.connection->limits().queue_bytes_high + 64_KiB);
    peer->set_listening(true);
    EXPECT_TRUE(world->run_until([&] { return peer->heard().size() == bytes; }));
    EXPECT_EQ(sessions.closed.size(), 0U);
}

TEST(PipeConnection, AnAnswerThatThePipeTookLateIsNoStall) {
    testing::FakeWorld world;
    testing::ScriptedSessions sessions;
    TcpServer server(world.loop(), sessions, {.connection = {.write = 1s}});
    testing::Pipe pipe = testing::make_pipe(world.loop(), {.capacity = 10});
    server.adopt(std::move(pipe.near), core::Address::loopback(1));
    testing::TransportPeer peer(world.loop(), std::move(pipe.far));
    sessions.connection->write("twelve bytes");  // two of them wait
    ASSERT_TRUE(world.run_until([&] { return peer.heard() == "twelve bytes"; }));
    world.advance(1min);
    EXPECT_TRUE(sessions.closed.empty());
}

TEST(FakeConnection, AnEndInsideBytesThatWereNotAllUsedIsAnOrderlyOne) {
    testing::FakeWorld world;
    testing::ScriptedSessions sessions;
    sessions.on_data = [](Connection& connection, ByteView) -> std::size_t {
        connection.write("answer");
        connection.close_when_sent();
        return 3;
    };
    TcpServer server(world.loop(), sessions, {});
    server.listen(world.listen());
    const auto peer = world.connect();
    peer->say("onetwo");
    ASSERT_TRUE(world.run_until([&] { return peer->ended(); }));
    EXPECT_EQ(peer->heard(), "answer");
    world.settle();
    EXPECT_TRUE(sessions.closed.empty());  // it waits for the peer's end, so that nothing resets
    peer->finish();
    ASSERT_TRUE(world.run_until([&] { return !sessions.closed.empty(); }));
    EXPECT_EQ(sessions.closed[0], CloseReason::finished);
}

TEST(SelectConnection, ClosesWhenTheEngineCannotHoldIt) {
    (void)core::raise_descriptor_limit();
    const auto world = testing::make_world("select");
    testing::ScriptedSessions sessions;
    TcpServer server(world->loop(), sessions, {});
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    const int high = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 1'100);
    ASSERT_GE(high, 1'100);
    ::close(ends[0]);
    server.adopt(high, core::Address::loopback(1));
    world->settle();
    EXPECT_EQ(sessions.closed, std::vector{CloseReason::refused_by_engine});
    char byte;
    EXPECT_EQ(::recv(ends[1], &byte, 1, 0), 0);
    ::close(ends[1]);
}

// The end is requested while a turn delivers: what arrives by the next turn is still answered.
TEST(ConnectionWhenQuiet, AnswersWhatArrivedBeforeItEnds) {
    testing::FakeWorld world;
    testing::ScriptedSessions sessions;
    sessions.on_data = [](Connection& connection, ByteView data) {
        if (data == "first") connection.close_when_quiet();
        connection.write(data);
        return data.size();
    };
    TcpServer server(world.loop(), sessions, {});
    server.listen(world.listen());
    const auto peer = world.connect();
    peer->say("first");
    while (sessions.received.empty()) world.loop().turn(Duration::zero());
    EXPECT_TRUE(sessions.closed.empty());
    peer->say("second");
    ASSERT_TRUE(world.run_until([&] { return peer->over(); }));
    EXPECT_EQ(peer->heard(), "firstsecond");
    EXPECT_EQ(sessions.closed, std::vector{CloseReason::finished});
    EXPECT_EQ(world.elapsed() / 1s, 0);
}

}  // namespace
}  // namespace tiderace::net
