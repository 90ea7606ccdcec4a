#include "tiderace/tcp/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/tcp/tcp_fixture.h"

namespace tiderace::tcp {
namespace {

using task::Task;

class EveryStream : public EveryTcp {};
INSTANTIATE_TEST_SUITE_P(Engines, EveryStream, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(EveryStream, EchoesAndEndsWithThePeer) {
    serve(echo);
    const auto peer = world->connect();
    peer->say("hello");
    expect_soon([&] { return peer->heard() == "hello"; });
    peer->say(" again");
    expect_soon([&] { return peer->heard() == "hello again"; });
    peer->finish();
    expect_soon([&] { return peer->ended(); });
    expect_soon([&] { return tasks->size() == 0 && server->size() == 0; });
    EXPECT_EQ(server->counters().closed[static_cast<int>(net::CloseReason::peer_finished)], 1U);
    end_all();
}

TEST_P(EveryStream, MuchGoesThroughWhateverTheReaderTakes) {
    serve(echo);
    const std::string much(3'000'000, 'x');
    const auto peer = world->connect();
    peer->set_listening(false);
    peer->say(much);
    world->settle();
    EXPECT_LT(peer->heard().size(), much.size());
    peer->set_listening(true);
    expect_soon([&] { return peer->heard().size() == much.size(); });
    peer->finish();
    expect_soon([&] { return peer->ended() && tasks->size() == 0; });
    end_all();
}

TEST_P(EveryStream, AWriteOfManyMegabytesIsNoOverflow) {
    const std::string much(10'000'000, 'y');
    bool sent = false;
    serve([&](Stream stream) -> Task<> {
        sent = co_await stream.write(much);
        co_await stream.write("z");
    });
    const auto peer = world->connect();
    peer->set_listening(false);
    world->settle();
    EXPECT_FALSE(sent) << "a write waits for its peer";
    peer->set_listening(true);
    expect_soon([&] { return peer->heard().size() == much.size() + 1; });
    EXPECT_TRUE(sent);
    EXPECT_EQ(peer->heard().back(), 'z');
    end_all();
}

TEST_P(EveryStream, ReadsFramesOfSeveralKinds) {
    std::vector<std::string> seen;
    serve([&](Stream stream) -> Task<> {
        seen.emplace_back(*co_await stream.read(Line{}));
        seen.emplace_back(*co_await stream.read_exactly(3));
        seen.emplace_back(*co_await stream.read_until("--"));
        seen.emplace_back(*co_await stream.read(LengthField{.field_bytes = 1}));
        seen.emplace_back(*co_await stream.read());
    });
    const auto peer = world->connect();
    for (const char each : std::string("line\r\nabcto--\2xy")) peer->say(std::string(1, each));
    peer->say("rest");
    expect_soon([&] { return seen.size() == 5; });
    EXPECT_EQ(seen, (std::vector<std::string>{"line", "abc", "to", "xy", seen.back()}));
    EXPECT_TRUE(std::string("rest").starts_with(seen.back()));
    end_all();
}

// Each receive ends inside a line, so that there is always something that was not read.
TEST_P(EveryStream, WhatWasReadIsHeldNoLonger) {
    std::size_t lines = 0;
    std::uint64_t most = 0;
    serve([&](Stream stream) -> Task<> {
        while (co_await stream.read(Line{})) {
            ++lines;
            most = std::max(most, stream.state().connection()->held_bytes().copied);
        }
    });
    const auto peer = world->connect();
    for (std::size_t i = 0; i < 200; ++i) {
        peer->say(std::string(1'000, 'x') + "\ny");
        expect_soon([&] { return lines == i + 1; });
    }
    EXPECT_LE(most, 10'000U);
    end_all();
}

TEST_P(EveryStream, SaysHowAReadEnded) {
    std::vector<End> ends;
    serve([&](Stream stream) -> Task<> {
        while (co_await stream.read(Line{.bytes_max = 10})) {
        }
        ends.push_back(stream.end());
    });
    const auto orderly = world->connect();
    orderly->say("line\n");
    orderly->finish();
    expect_soon([&] { return ends.size() == 1; });
    const auto cut = world->connect();
    cut->say("line\nhalf");
    cut->finish();
    expect_soon([&] { return ends.size() == 2; });
    const auto endless = world->connect();
    endless->say("line\n0123456789abc");
    expect_soon([&] { return ends.size() == 3 && endless->over(); });
    const auto gone = world->connect();
    gone->say("line\n");
    world->settle();
    gone->reset();
    expect_soon([&] { return ends.size() == 4; });
    EXPECT_EQ(ends, (std::vector{End::finished, End::cut_short, End::too_long, End::lost}));
    expect_soon([&] { return tasks->size() == 0; });
    end_all();
}

TEST_P(EveryStream, AHalfCloseLetsThePeerGoOn) {
    std::string last;
    serve([&](Stream stream) -> Task<> {
        co_await stream.write("all I have");
        stream.finish();
        EXPECT_FALSE(co_await stream.write("more"));
        while (auto bytes = co_await stream.read()) last += *bytes;
    });
    const auto peer = world->connect();
    expect_soon([&] { return peer->ended(); });
    EXPECT_EQ(peer->heard(), "all I have");
    peer->say("mine");
    peer->finish();
    expect_soon([&] { return last == "mine" && tasks->size() == 0 && server->size() == 0; });
    EXPECT_FALSE(peer->was_reset());
    end_all();
}

// ---- under virtual time -------------------------------------------------------------------------

class StreamTest : public ::testing::Test, protected ServedWorld {
  protected:
    StreamTest() : ServedWorld("fake") {}
};

TEST_F(StreamTest, OptionsReachItsSocket) {
    const auto set = [](const net::SocketOptions& options) {
        ServedWorld one("fake");
        one.serve(echo, {.socket = options});
        const auto before = one.world->kernel().calls(testing::Call::set_option);
        const auto peer = one.world->connect();
        one.world->settle();
        return one.world->kernel().calls(testing::Call::set_option) - before;
    };
    EXPECT_EQ(set({.send_buffer_bytes = 4'096}), set({}) + 1);
    std::uint64_t before = 0;
    std::vector<bool> tuned;
    serve([&](Stream stream) -> Task<> {
        before = world->kernel().calls(testing::Call::set_option);
        while (auto bytes = co_await stream.read()) {
            tuned.push_back(stream.tune({.receive_buffer_bytes = 4'096}));
        }
        tuned.push_back(stream.tune({.receive_buffer_bytes = 4'096}));
    });
    const auto peer = world->connect();
    peer->say("x");
    world->settle();
    EXPECT_EQ(world->kernel().calls(testing::Call::set_option), before + 1);
    peer->reset();
    world->settle();
    EXPECT_EQ(tuned, (std::vector{true, false})) << "there is no socket any more";
    end_all();
}

TEST_F(StreamTest, AbortedItSendsNoMore) {
    const std::string much(3'000'000, 'x');
    bool open = true;
    net::CloseReason reason{};
    serve([&](Stream stream) -> Task<> {
        const auto sent = co_await task::within(1s, stream.write(much));
        EXPECT_FALSE(sent) << "the peer takes nothing";
        EXPECT_GT(stream.unsent_bytes(), 0U);
        stream.abort();
        EXPECT_FALSE(co_await stream.write("more"));
        EXPECT_EQ(co_await stream.read(), std::nullopt);
        open = stream.open();
        reason = stream.reason();
    });
    const auto peer = world->connect();
    peer->set_listening(false);
    world->settle();
    world->advance(2s);
    world->settle();
    EXPECT_FALSE(open);
    EXPECT_EQ(reason, net::CloseReason::aborted);
    EXPECT_EQ(tasks->size(), 0U);
    EXPECT_EQ(server->size(), 0U);
    peer->set_listening(true);
    world->advance(1s);
    world->settle();
    EXPECT_LT(peer->heard().size(), much.size());
    end_all();
}

TEST_F(StreamTest, ItsIdleTimeIsForTheReadsThatFollow) {
    std::vector<End> ends;
    serve([&](Stream stream) -> Task<> {
        co_await stream.read();  // waits for ever
        stream.set_idle_timeout(5s);
        co_await stream.read();
        ends.push_back(stream.end());
    });
    const auto peer = world->connect();
    world->advance(1h);
    EXPECT_FALSE(peer->over());
    peer->say("x");
    world->settle();
    world->advance(4s);
    EXPECT_TRUE(ends.empty());
    world->advance(2s);
    EXPECT_EQ(ends, std::vector{End::silent});
    end_all();
}

TEST_F(StreamTest, SendsAFile) {
    const std::string path = ::testing::TempDir() + "tcp_stream_file";
    const std::string text(200'000, 'f');
    std::ofstream(path) << text << "tail";
    std::vector<std::string> said;
    serve([&](Stream stream) -> Task<> {
        for (const auto& [name, offset] :
             {std::pair{path, 0}, std::pair{path, 200'000}, std::pair{path, 900'000},
              std::pair{path + ".not", 0}, std::pair{::testing::TempDir(), 0}}) {
            auto sent = co_await stream.send_file(name, static_cast<std::uint64_t>(offset));
            said.push_back(sent ? std::to_string(*sent) : sent.error().operation());
        }
    });
    const auto peer = world->connect();
    while (!peer->ended()) {
        // The pool opens the file in its own time, while the loop's stands still.
        std::this_thread::sleep_for(1ms);
        world->loop().turn(0ms);
        world->settle();
    }
    std::remove(path.c_str());
    EXPECT_EQ(peer->heard(), text + "tailtail");
    EXPECT_EQ(said, (std::vector<std::string>{"200004", "4", "0", "open", "send"}));
    end_all();
}

}  // namespace
}  // namespace tiderace::tcp
