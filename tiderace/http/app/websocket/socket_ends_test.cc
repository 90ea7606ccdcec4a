// Every way in which a socket can end, and what its task sees of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tiderace/http/app/websocket/socket_fixture.h"
#include "tiderace/log/logger.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/task/scope.h"

namespace tiderace::http {
namespace {

using task::Task;

class SocketEnds : public SocketTest {
  protected:
    SocketEnds() { world.loop().set_log(&logger_); }

    // Says how a task ends: "end" by itself, "cut" at an await.
    struct Note {
        std::string& said;
        bool whole = false;
        ~Note() { said += whole ? "end " : "cut "; }
    };

    log::Doorbell bell_;
    log::Ring ring_{64_KiB, bell_};
    struct Time final : log::TimeSource {
        std::int64_t unix_ms() override { return ms; }
        std::int64_t ms = 1'000'000;
    };
    Time time_;
    log::Logger logger_{ring_, time_};
    std::string said_;
};

TEST_F(SocketEnds, ByThePeersCloseFrame) {
    app.ws<"/">([&](WebSocket& socket) -> Task<> {
        EXPECT_EQ(socket.close_code(), 0);
        while (auto m = co_await socket.receive()) said_ += m->text() + " ";
        said_ += std::to_string(socket.close_code()) + " " + std::string(socket.close_reason());
        EXPECT_FALSE(co_await socket.send("too late"));
    });
    auto peer = open("/");
    peer->say(client_frame(Opcode::text, "last words") +
              client_frame(Opcode::close, "\x0f\xa1my reason"));
    world.settle();
    EXPECT_EQ(said_, "last words 4001 my reason");
    EXPECT_EQ(frames(*peer), "close(4001)");
    EXPECT_TRUE(peer->over());
}

TEST_F(SocketEnds, ByOurCloseFrame) {
    app.ws<"/">([&](WebSocket& socket) -> Task<> {
        co_await socket.send("first");
        socket.close(4002, "enough");
        EXPECT_FALSE(socket.open());
        EXPECT_FALSE(co_await socket.send("more"));
        while (co_await socket.receive()) said_ += "heard ";
        said_ += std::to_string(socket.close_code());
    });
    auto peer = open("/");
    say(*peer, "not delivered any more");
    EXPECT_EQ(frames(*peer), "text(first) close(4002 enough)");
    EXPECT_EQ(said_, "");
    say_close(*peer, 4002);
    EXPECT_EQ(said_, "4002");
    EXPECT_TRUE(peer->over());
}

TEST_F(SocketEnds, WithItsTask) {
    app.ws<"/">([](WebSocket& socket) -> Task<> { co_await socket.send("bye"); });
    auto peer = open("/");
    EXPECT_EQ(frames(*peer), "text(bye) close(1000)");
    EXPECT_FALSE(peer->over());
    world.advance(6s);  // the peer does not answer
    EXPECT_TRUE(peer->over());
}

TEST_F(SocketEnds, WithAnExceptionOfItsTask) {
    app.ws<"/{when}">([](WebSocket& socket, int when) -> Task<> {
        if (when == 0) throw std::runtime_error("at once");
        co_await socket.receive();
        throw std::runtime_error("later");
    });
    auto peer = open("/0");
    EXPECT_EQ(frames(*peer), "close(1011)");
    EXPECT_THAT(log::take_all(ring_), ::testing::HasSubstr("at once"));
    time_.ms += 1'000;  // exceptions are logged once a second
    auto later = open("/1");
    say(*later, "now");
    EXPECT_EQ(frames(*later), "close(1011)");
    const std::string lines = log::take_all(ring_);
    EXPECT_THAT(lines, ::testing::HasSubstr("later"));
    EXPECT_EQ(std::ranges::count(lines, '\n'), 1) << lines;
}

TEST_F(SocketEnds, BeforeItBegan) {
    app.ws<"/">([&](WebSocket& socket, Topics&) -> Task<> {  // that state does not exist
        Note note{said_};
        co_await socket.receive();
    });
    EXPECT_EQ(status_of(ask_socket("/")->heard()), "500");
    EXPECT_EQ(said_, "");
}

TEST_F(SocketEnds, WhereverItsTaskWaitsWhenThePeerBreaksOff) {
    app.ws<"/{where}">([&](WebSocket& socket, int where) -> Task<> {
        Note note{said_};
        const std::string large(100'000, 'x');
        switch (where) {
            case 0:
                EXPECT_FALSE(co_await socket.receive());
                break;
            case 1:
                while (co_await socket.send(large)) {
                }
                break;
            case 2:
                co_await task::sleep(1h);
                break;
            case 3: {  // a child that receives, a parent that waits for something else
                task::Scope scope;
                scope.spawn([](WebSocket& shared) -> Task<> {
                    while (co_await shared.receive()) {
                    }
                }(socket));
                co_await task::sleep(1h);
                break;
            }
            case 4:  // goes on as if nothing had happened
                for (;;) co_await socket.send("tick");
            default:
                for (;;) co_await socket.receive();
        }
        note.whole = true;
    });
    const std::string_view expected[] = {"end ", "end ", "cut ", "cut ", "cut ", "cut "};
    for (int where = 0; where < 6; ++where) {
        for (const bool reset : {true, false}) {
            said_.clear();
            auto peer = open("/" + std::to_string(where));
            peer->set_listening(false);
            world.settle();
            reset ? peer->reset() : peer->close();
            world.advance(10s);  // a task that knows has close_timeout
            EXPECT_EQ(said_, expected[where]) << where << (reset ? " reset" : " closed");
        }
    }
    EXPECT_EQ(server().size(), 0u);
}

// Both are found to be stuck before the first of them has ended the task.
TEST_F(SocketEnds, WithChildrenThatGoOnAsIfNothingHadHappened) {
    app.ws<"/{which}">([&](WebSocket& socket, int which) -> Task<> {
        Note note{said_};
        co_await socket.receive();
        if (which == 1) co_await task::sleep(1h);
        task::Scope scope;
        scope.spawn([](WebSocket& shared) -> Task<> {
            for (;;) co_await shared.send("tick");
        }(socket));
        scope.spawn([](WebSocket& shared) -> Task<> {
            for (;;) co_await shared.receive();
        }(socket));
        co_await scope.join();
        note.whole = true;
    });
    auto careless = open("/0");
    auto other = open("/1");
    say(*other, "sleep now");
    careless->reset();
    world.settle();
    EXPECT_EQ(said_, "cut ") << "and the other socket's task goes on";
    EXPECT_FALSE(other->over());
    EXPECT_EQ(frames(*other), "");
}

// The peer goes after each number of events, whatever its socket's task is doing then.
TEST_F(SocketEnds, AtAnyMoment) {
    int running = 0;
    app.ws<"/">([&](WebSocket& socket) -> Task<> {
        struct Count {
            int& running;
            explicit Count(int& r) : running(r) { ++running; }
            ~Count() { --running; }
        } count(running);
        while (auto m = co_await socket.receive()) {
            co_await task::sleep(1ms);
            for (int i = 0; i < 3 && co_await socket.send(*m); ++i) co_await task::yield();
        }
    });
    for (int turns = 0; turns < 60; ++turns) {
        auto peer = connect();
        peer->say(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
            "\r\n\r\n" +
            client_frame(Opcode::text, std::string(50'000, 'x')) +
            client_frame(Opcode::text, "more"));
        for (int i = 0; i < turns; ++i) world.loop().turn(1ms);
        turns % 2 == 0 ? peer->reset() : peer->close();
        world.advance(10s);
        EXPECT_EQ(running, 0) << turns;
    }
}

TEST_F(SocketEnds, WithTheServersDrain) {
    app.ws<"/{where}">([&](WebSocket& socket, int where) -> Task<> {
        Note note{said_};
        if (where == 0) {
            while (co_await socket.receive()) {
            }
            EXPECT_EQ(socket.close_code(), 1001);
            EXPECT_FALSE(co_await socket.send("late"));
        } else {
            co_await task::sleep(1h);
        }
        note.whole = true;
    });
    auto waits = open("/0");
    auto sleeps = open("/1");
    bool drained = false;
    server().drain(world.loop().now() + 60s, [&] { drained = true; });
    world.settle();
    EXPECT_EQ(frames(*waits), "close(1001)");
    EXPECT_EQ(frames(*sleeps), "close(1001)");
    say_close(*waits, 1001);
    EXPECT_EQ(said_, "end ");
    say_close(*sleeps, 1001);
    world.advance(6s);
    EXPECT_EQ(said_, "end cut ");
    EXPECT_TRUE(drained);
}

TEST_F(SocketEnds, WithTimeForItsTaskToSaveWhatItReceived) {
    app.ws<"/{seconds}">([&](WebSocket& socket, int seconds) -> Task<> {
        Note note{said_};
        while (auto m = co_await socket.receive()) {
            co_await task::sleep(std::chrono::seconds(seconds));
            said_ += m->text() + " ";
        }
        note.whole = true;
    });
    for (const auto& [seconds, expected] :
         {std::pair("1", "a b end "), std::pair("3", "a cut "), std::pair("9", "cut ")}) {
        said_.clear();
        auto peer = open("/" + std::string(seconds));
        peer->say(client_frame(Opcode::text, "a") + client_frame(Opcode::text, "b") +
                  client_frame(Opcode::close, "\x03\xe8"));
        world.advance(20s);
        EXPECT_EQ(said_, expected) << seconds;
    }
}

TEST_F(SocketEnds, WithTheLoopsApp) {
    app.ws<"/">([&](WebSocket& socket) -> Task<> {
        Note note{said_};
        co_await socket.receive();
        co_await task::sleep(1h);
    });
    auto peer = open("/");
    say(*peer, "sleep now");
    // The fixture ends everything; what the task leaves is seen by the sanitizers.
    EXPECT_EQ(said_, "");
}

}  // namespace
}  // namespace tiderace::http
