#include "tiderace/tcp/stream_state.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tiderace/tcp/tcp_fixture.h"

namespace tiderace::tcp {
namespace {

using task::Task;

class StreamStateTest : public ::testing::Test, protected ServedWorld {
  protected:
    StreamStateTest() : ServedWorld("fake") {}
    testing::FakeWorld& fake() { return static_cast<testing::FakeWorld&>(*world); }
};

// Another task has its turn after each Runner::spends_max lines, and not after each line.
TEST_F(StreamStateTest, ReadsThatHaveTheirBytesDoNotSuspendAndStillGiveWay) {
    constexpr int all = 20'000;
    int lines = 0;
    std::vector<int> turns;  // how many lines were read when the other had its turn
    const auto take_turns = [](const int& read, std::vector<int>& seen) -> Task<> {
        while (read < all) {
            seen.push_back(read);
            co_await task::yield();
        }
        seen.push_back(read);
    };
    serve([&](Stream stream) -> Task<> {
        task::Scope scope;
        scope.spawn(take_turns(lines, turns));
        while (lines < all && co_await stream.read(Line{})) ++lines;
        co_await scope.join();
    });
    const auto peer = world->connect();
    std::string text;
    for (int i = 0; i < all; ++i) text += "x\n";
    peer->say(text);
    ASSERT_TRUE(world->run_until([&] { return lines == all; }));
    peer->finish();
    world->settle();
    EXPECT_EQ(tasks->size(), 0U);
    int longest_row = 0;
    for (std::size_t i = 1; i < turns.size(); ++i) {
        longest_row = std::max(longest_row, turns[i] - turns[i - 1]);
    }
    EXPECT_GT(longest_row, static_cast<int>(task::Runner::spends_max) / 2) << "each read suspends";
    EXPECT_LE(longest_row, static_cast<int>(task::Runner::spends_max) + 2) << "none gives way";
    end_all();
}

// Unread bytes stay with the peer: the stream takes its limit and what one receive gives.
TEST_F(StreamStateTest, UnreadBytesAreBounded) {
    constexpr std::size_t limit = 10'000, received_at_once_max = 256 * 1024;
    const Stream* waiting = nullptr;
    std::uint64_t read = 0;
    serve(
        [&](Stream stream) -> Task<> {
            waiting = &stream;
            co_await task::sleep(1h);
            while (const auto bytes = co_await stream.read()) read += bytes->size();
        },
        {.stream = {.read_bytes_max = limit}});
    const auto peer = fake().connect_fake();
    peer->say(std::string(10'000'000, 'x'));
    world->settle();
    EXPECT_EQ(server->size(), 1U) << "pushed back on, not cut off";
    ASSERT_NE(waiting, nullptr);
    const std::uint64_t held = waiting->state().connection()->held_bytes().copied;
    EXPECT_GE(held, limit);
    EXPECT_LE(held, limit + received_at_once_max);
    EXPECT_LT(peer->said(), 10'000'000U);
    world->advance(2h);
    world->settle();
    EXPECT_EQ(read, 10'000'000U);
    peer->finish();
    world->settle();
    EXPECT_EQ(tasks->size(), 0U);
    end_all();
}

TEST_F(StreamStateTest, AReadInTimeLosesNothingWhenItIsCancelled) {
    std::vector<std::string> seen;
    serve([&](Stream stream) -> Task<> {
        for (int i = 0; i < 3; ++i) {
            auto line = co_await task::within(1s, stream.read(Line{}));
            seen.emplace_back(line ? std::string(**line) : "late");
        }
    });
    const auto peer = world->connect();
    peer->say("half ");
    world->settle();
    world->advance(1500ms);
    peer->say("a line\nanother\n");
    world->settle();
    EXPECT_EQ(seen, (std::vector<std::string>{"late", "half a line", "another"}));
    end_all();
}

TEST_F(StreamStateTest, ASilentPeerIsLeft) {
    End end = End::none;
    net::CloseReason reason{};
    serve(
        [&](Stream stream) -> Task<> {
            while (co_await stream.read()) {
            }
            end = stream.end();
            reason = stream.reason();
        },
        {.stream = {.idle = 5s}});
    const auto peer = world->connect();
    world->settle();
    for (int i = 0; i < 4; ++i) {
        world->advance(3s);
        peer->say("still here");
        world->settle();
    }
    EXPECT_EQ(end, End::none);
    world->advance(6s);
    world->settle();
    EXPECT_EQ(end, End::silent);
    EXPECT_EQ(reason, net::CloseReason::idle_expired);
    EXPECT_EQ(tasks->size(), 0U);
    end_all();
}

TEST_F(StreamStateTest, TheIdleTimeMayBeNever) {
    std::string read;
    serve(
        [&](Stream stream) -> Task<> {
            while (const auto bytes = co_await stream.read()) read += *bytes;
        },
        {.stream = {.idle = Duration::max()}});
    const auto peer = world->connect();
    for (const char* each : {"a", "b"}) {
        world->advance(1h);
        peer->say(each);
        world->settle();
    }
    EXPECT_EQ(read, "ab");
    EXPECT_FALSE(peer->over());
    peer->finish();
    world->settle();
    end_all();
}

TEST_F(StreamStateTest, TheIdleTimeDoesNotRunWhileWeAreWaitedFor) {
    bool done = false;
    serve(
        [&](Stream stream) -> Task<> {
            co_await stream.read();
            co_await task::sleep(1h);  // our own work
            done = co_await stream.write("answer");
        },
        {.stream = {.idle = 5s}});
    const auto peer = world->connect();
    peer->say("ask");
    world->settle();
    world->advance(2h);
    world->settle();
    EXPECT_TRUE(done);
    EXPECT_EQ(peer->heard(), "answer");
    end_all();
}

// Of each frame anew; a peer that sends nothing between two frames is not slow.
TEST_F(StreamStateTest, AFrameThatComesTooSlowlyEndsTheStream) {
    std::size_t read = 0;
    End end = End::none;
    net::CloseReason reason{};
    serve(
        [&](Stream stream) -> Task<> {
            while (const auto line = co_await stream.read(Line{})) {
                read += line->size();
                co_await task::sleep(1h);  // our own work
            }
            end = stream.end();
            reason = stream.reason();
        },
        {.stream = {.receive_bytes_per_second_min = 10}});
    const auto peer = world->connect();
    const auto say_each = [&](const std::string& piece, int times) {
        for (int i = 0; i < times; ++i) {
            peer->say(piece);
            world->settle();
            world->advance(1s);
        }
    };
    say_each("fast enough", 90);
    EXPECT_EQ(end, End::none);
    peer->say("\nbegun while we work");
    world->settle();
    world->advance(1h);  // and the rest of it has its time from here on
    world->settle();
    world->advance(20s);
    EXPECT_EQ(end, End::none);
    peer->say("\n");
    world->settle();
    world->advance(2h);
    world->settle();
    EXPECT_EQ(read, 990U + 19U);
    EXPECT_EQ(end, End::none) << "nothing has begun";
    say_each("s", 29);
    EXPECT_EQ(end, End::none);
    say_each("s", 10);
    EXPECT_EQ(end, End::silent);
    EXPECT_EQ(reason, net::CloseReason::deadline_expired);
    end_all();
}

TEST_F(StreamStateTest, TheIdleTimeEndsAFrameThatIsFastEnough) {
    net::CloseReason reason{};
    serve(
        [&](Stream stream) -> Task<> {
            co_await stream.read(Line{});
            reason = stream.reason();
        },
        {.stream = {.idle = 40s, .receive_bytes_per_second_min = 10}});
    const auto peer = world->connect();
    peer->say(std::string(5'000, 'x'));
    world->settle();
    world->advance(39s);
    EXPECT_FALSE(peer->over());
    world->advance(2s);
    world->settle();
    EXPECT_EQ(reason, net::CloseReason::idle_expired);
    end_all();
}

TEST_F(StreamStateTest, WritesOfTwoTasksLeaveOneAfterTheOther) {
    const std::string a(1'000'000, 'a'), b(1'000'000, 'b');
    serve([&](Stream stream) -> Task<> {
        const auto write = [](Stream& stream, const std::string& text) -> Task<> {
            co_await stream.write(text);
        };
        task::Scope scope;
        scope.spawn(write(stream, a));
        scope.spawn(write(stream, b));
        co_await scope.join();
    });
    const auto peer = world->connect();
    EXPECT_TRUE(world->run_until([&] { return peer->heard().size() == 2'000'000; }));
    EXPECT_EQ(peer->heard(), a + b);
    end_all();
}

// Writes give way after 128 in a row; the one that does must not slip in behind the end.
TEST_F(StreamStateTest, NoWriteFollowsFinishHoweverManyWereRefused) {
    const std::string much(3'000'000, 'x');
    int refused = 0, taken = 0;
    serve([&](Stream stream) -> Task<> {
        task::Scope scope;
        scope.spawn([](Stream& stream, const std::string& text) -> Task<> {
            co_await stream.write(text);
        }(stream, much));
        stream.finish();  // behind the write that waits
        for (int i = 0; i < 300; ++i) ++(co_await stream.write("late") ? taken : refused);
        co_await scope.join();
    });
    const auto peer = world->connect();
    EXPECT_TRUE(world->run_until([&] { return peer->ended(); }));
    EXPECT_EQ(refused, 300);
    EXPECT_EQ(taken, 0);
    EXPECT_TRUE(peer->heard() == much);
    end_all();
}

struct Fussy {
    Found operator()(ByteView bytes, std::size_t) const {
        if (bytes.contains('!')) throw std::runtime_error("no exclamation marks");
        return {};
    }
};

TEST_F(StreamStateTest, WhatAFramingThrowsIsThrownByItsRead) {
    for (const bool at_once : {false, true}) {
        std::string thrown, next;
        serve([&](Stream stream) -> Task<> {
            if (at_once) co_await task::sleep(1s);
            try {
                (void)co_await stream.read(Fussy{});
            } catch (const std::runtime_error& error) {
                thrown = error.what();
            }
            next = (co_await stream.read()).value_or("nothing");
            co_await stream.write("please calm down");
        });
        const auto peer = world->connect();
        world->settle();
        peer->say("hello");
        world->settle();
        peer->say("!");
        world->settle();
        world->advance(2s);
        EXPECT_EQ(thrown, "no exclamation marks");
        EXPECT_EQ(next, "hello!");
        EXPECT_EQ(peer->heard(), "please calm down");
        EXPECT_EQ(tasks->size(), 0U);
        end_all();
    }
}

// ---- inside a receive ---------------------------------------------------------------------------

// Once a turn: a receive brings as many pieces as there are records of TLS in it.
TEST_F(StreamStateTest, ATaskRunsInsideTheFirstReceiveOfATurn) {
    StreamState* state = nullptr;
    std::vector<std::string> seen;
    serve([&](Stream stream) -> Task<> {
        state = &stream.state();
        while (const auto bytes = co_await stream.read()) seen.emplace_back(*bytes);
    });
    const auto peer = world->connect();
    world->settle();
    world->loop().assert_on_loop();
    net::Session& session = *state;
    for (int turn = 0; turn < 2; ++turn) {
        seen.clear();
        session.on_data(*state->connection(), "a");
        EXPECT_EQ(seen, std::vector<std::string>{"a"});
        session.on_data(*state->connection(), "b");
        session.on_data(*state->connection(), "c");
        EXPECT_EQ(seen.size(), 1U);
        world->loop().turn(0ms);
        EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c"}));
    }
    end_all();
}

TEST_F(StreamStateTest, WhatAReadGaveStaysUntilTheNextHoweverManyReceivesFollow) {
    std::vector<std::string> seen;
    serve([&](Stream stream) -> Task<> {
        const auto kept = co_await stream.read();
        co_await task::sleep(1s);
        seen.emplace_back(*kept);
        seen.emplace_back(*co_await stream.read());
    });
    const auto one = world->connect(), other = world->connect();
    const std::string text(100, 'x'), more(100, 'y');
    one->say(text);
    world->settle();
    for (int i = 0; i < 5; ++i) {
        one->say(more);
        other->say(more);
        world->settle();
    }
    world->advance(2s);
    ASSERT_EQ(seen.size(), 4U);
    EXPECT_EQ(seen[0], text);
    EXPECT_EQ(seen[1], more + more + more + more + more);
    end_all();
}

// on_data no longer holds the bytes when the task has run.
TEST_F(StreamStateTest, InsideAReceiveATaskMayEndItsStreamAndOthers) {
    std::optional<Stream> kept;
    serve([&](Stream stream) -> Task<> {
        const auto bytes = co_await stream.read();
        const std::string word(bytes.value_or(""));
        if (word == "keep me") {
            kept.emplace(std::move(stream));
        } else if (word == "end all") {
            kept.reset();
        } else if (word == "abort") {
            stream.abort();
        } else {
            co_await stream.write("bye");
        }
    });
    const auto kept_one = world->connect(), ending = world->connect(), aborted = world->connect(),
               orderly = world->connect();
    kept_one->say("keep me");
    world->settle();
    EXPECT_FALSE(kept_one->over());
    ending->say("end all");
    aborted->say("abort");
    orderly->say("anything");
    world->settle();
    EXPECT_TRUE(kept_one->over());
    EXPECT_TRUE(ending->over());
    EXPECT_TRUE(aborted->over());
    EXPECT_EQ(orderly->heard(), "bye");
    EXPECT_EQ(tasks->size(), 0U);
    end_all();
}

TEST_F(StreamStateTest, APeerThatStopsTakingIsCutOff) {
    std::optional<bool> sent;
    const std::string much(10'000'000, 'x');
    serve([&](Stream stream) -> Task<> { sent = co_await stream.write(much); });
    const auto peer = world->connect();
    peer->set_listening(false);
    world->settle();
    world->advance(2min);
    world->settle();
    EXPECT_EQ(sent, std::optional(false));
    EXPECT_EQ(tasks->size(), 0U);
    EXPECT_EQ(server->size(), 0U);
    end_all();
}

}  // namespace
}  // namespace tiderace::tcp
