// Handlers of every kind whose client goes, or whose server drains, at any moment: each frame ends,
// once, and requests in flight get their answers while there is time.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/body_stream.h"
#include "tiderace/http/app/multipart.h"
#include "tiderace/http/app/stream.h"
#include "tiderace/task/detached.h"
#include "tiderace/task/scope.h"
#include "tiderace/task/when.h"
#include "tiderace/task/within.h"

namespace tiderace::http {
namespace {

using task::Task;

struct Alive {
    Alive() { ++count; }
    Alive(const Alive&) = delete;
    ~Alive() { --count; }
    static inline int count = 0;
};

Task<> wait(Duration time) {
    const Alive here;
    co_await task::sleep(time);
}

Events answers() {
    const Alive here;
    while (true) {
        co_yield {.data = "answered"};
        co_await task::sleep(1s);
    }
}

// An App with a handler of each kind; a fixture of its own, so that a test may have many.
class Served : public AppTest {
  public:
    Served() {
        app.get<"/waits">([]() -> Task<std::string> {
            const Alive here;
            for (int i = 0; i < 10; ++i) {
                co_await task::sleep(1ms);
                co_await task::yield();
            }
            co_return "answered";
        });
        app.get<"/children">([]() -> Task<std::string> {
            const Alive here;
            task::Scope scope;
            for (int i = 0; i < 3; ++i) scope.spawn(wait(5ms));
            co_await task::when_all(wait(2ms), wait(3ms));
            co_await task::within(2ms, wait(1h));
            co_await scope.join();
            co_return "answered";
        });
        app.get<"/pieces">([]() -> task::Generator<std::string> {
            const Alive here;
            for (int i = 0; i < 20; ++i) {
                std::string piece(20'000, 'x');
                co_yield std::move(piece);
                if (i % 4 == 3) co_await task::sleep(1ms);
            }
            co_yield "answered";
        });
        app.post<"/body">([](BodyStream body) -> Task<std::string> {
            const Alive here;
            while (auto piece = co_await body.next()) co_await task::sleep(1ms);
            co_return "answered";
        });
        app.post<"/whole">([](Body) -> Task<std::string> {
            co_await wait(3ms);
            co_return "answered";
        });
        app.group("/rule")
            .use([]() -> Task<std::optional<Problem>> {
                co_await wait(3ms);
                co_return std::nullopt;
            })
            .get<"/x">([]() -> Task<std::string> {
                co_await wait(3ms);
                co_return "answered";
            })
            .get<"/events">([] { return answers(); });
        app.get<"/throws">([]() -> Task<std::string> {
            const Alive here;
            co_await task::sleep(3ms);
            throw Problem{.status = 409, .detail = "answered"};
        });
        app.get<"/never">([]() -> Task<std::string> {
            co_await wait(24h);
            co_return "never";
        });
        app.get<"/finishes">([]() -> Task<std::string> {
            const Alive here;
            co_await task::detached(wait(1s));
            co_return "answered";
        });
        app.post<"/detached">([](task::Runner& runner) {
            runner.spawn(wait(1s));
            return "answered";
        });
    }
    void TestBody() override {}

    using AppTest::app;
    using AppTest::connect;
    using AppTest::loop;
    using AppTest::server;
    using AppTest::world;

    // Sends it; a body comes in two pieces, with a turn between them.
    std::unique_ptr<testing::Peer> say(const std::string& method, const std::string& path) {
        auto peer = connect();
        std::string text = method + " " + path + " HTTP/1.1\r\nHost: a\r\n";
        if (method == "POST")
            text += "Content-Length: 20\r\n\r\n0123456789";
        else
            text += "\r\n";
        peer->say(text);
        world.loop().turn(1ms);
        if (method == "POST") peer->say("0123456789");
        return peer;
    }
};

struct Question {
    const char* method;
    const char* path;
};
constexpr Question that_end[] = {
    {"GET", "/waits"},  {"GET", "/children"}, {"GET", "/pieces"}, {"POST", "/body"},
    {"POST", "/whole"}, {"GET", "/rule/x"},   {"GET", "/throws"},
};

TEST(AppEnds, WhereverAHandlerIsWhenItsClientGoes) {
    Served served;
    for (const auto& [method, path] : that_end) {
        bool met = false;
        for (int turns = 0; turns < 30; ++turns) {
            for (const bool reads : {true, false}) {
                auto peer = served.say(method, path);
                peer->set_listening(reads);
                for (int i = 0; i < turns; ++i) served.world.loop().turn(1ms);
                met |= Alive::count > 0;
                turns % 2 == 0 ? peer->reset() : peer->close();
                served.world.advance(1min);
                ASSERT_EQ(Alive::count, 0) << path << ", after " << turns << " turns";
                ASSERT_EQ(served.server().size(), 0U) << path << ", after " << turns << " turns";
            }
        }
        EXPECT_TRUE(met) << path;
    }
}

TEST(AppEnds, WhatRunsWhenTheServerDrainsIsAnswered) {
    for (const auto& [method, path] : that_end) {
        for (int turns = 0; turns < 20; ++turns) {
            Served served;
            auto peer = served.say(method, path);
            for (int i = 0; i < turns; ++i) served.world.loop().turn(1ms);
            bool drained = false;
            served.server().drain(served.world.loop().now() + 10s, [&] { drained = true; });
            ASSERT_TRUE(served.world.run_until([&] { return drained && peer->over(); })) << path;
            EXPECT_NE(peer->heard().find("answered"), std::string::npos)
                << path << ", after " << turns << " turns: " << peer->heard().substr(0, 300);
            ASSERT_EQ(Alive::count, 0) << path;
            EXPECT_LT(served.world.elapsed(), 5s) << "nothing waits for the end of the drain";
        }
    }
}

TEST(AppEnds, EventsEndWithTheDrainAlsoWhereTheyBeginInIt) {
    for (const Duration before : {1ms, 100ms}) {
        Served served;
        auto peer = served.say("GET", "/rule/events");
        served.world.advance(before);
        EXPECT_EQ(peer->heard().contains("answered"), before > 3ms);
        bool drained = false;
        served.loop().drain(served.world.loop().now() + 1h, [] {});
        served.server().drain(served.world.loop().now() + 1h, [&] { drained = true; });
        ASSERT_TRUE(served.world.run_until([&] { return drained && peer->over(); }));
        EXPECT_LT(served.world.elapsed(), 5s);
        EXPECT_TRUE(peer->heard().ends_with("0\r\n\r\n")) << "the answer is whole";
    }
}

TEST(AppEnds, WhatDoesNotAnswerIsCutOffAtTheEndOfTheDrain) {
    Served served;
    auto never = served.say("GET", "/never");
    auto waits = served.say("GET", "/waits");
    served.world.settle();
    EXPECT_EQ(Alive::count, 2);
    bool drained = false;
    served.server().drain(served.world.loop().now() + 2s, [&] { drained = true; });
    served.world.advance(1s);
    EXPECT_FALSE(drained);
    EXPECT_NE(waits->heard().find("answered"), std::string::npos);
    EXPECT_FALSE(never->over());
    served.world.advance(2s);
    EXPECT_TRUE(drained);
    EXPECT_TRUE(never->over());
    EXPECT_EQ(Alive::count, 0);
}

TEST(AppEnds, ADetachedTaskGoesOnWhenItsHandlerIsCancelled) {
    for (const bool leaves : {false, true}) {
        Served served;
        auto peer = served.say("GET", "/finishes");
        served.world.advance(500ms);
        EXPECT_EQ(Alive::count, 2);
        if (leaves) peer->reset();
        served.world.settle();
        EXPECT_EQ(Alive::count, leaves ? 1 : 2);
        served.world.advance(1s);
        EXPECT_EQ(Alive::count, 0);
        EXPECT_EQ(peer->heard().contains("answered"), !leaves);
    }
}

TEST(AppEnds, ADrainWaitsForDetachedTasks) {
    Served served;
    auto peer = served.say("GET", "/finishes");
    served.world.settle();
    peer->reset();
    served.world.settle();
    bool drained = false;
    served.loop().drain(served.world.loop().now() + 10s, [&] { drained = true; });
    served.world.advance(500ms);
    EXPECT_FALSE(drained);
    served.world.advance(1s);
    EXPECT_TRUE(drained);
    EXPECT_EQ(Alive::count, 0);
}

// Work that is to outlive its request is spawned on the loop's runner.
TEST(AppEnds, DetachedWorkGoesOnWithoutItsClient) {
    Served served;
    auto peer = served.say("POST", "/detached");
    ASSERT_TRUE(served.world.run_until([&] { return peer->heard().contains("answered"); }));
    peer->reset();
    served.world.advance(500ms);
    EXPECT_EQ(Alive::count, 1);
    served.world.advance(1s);
    EXPECT_EQ(Alive::count, 0);
}

// The App ends with handlers at each of their awaits.
TEST(AppEnds, WhereverAHandlerIsWhenItsServerEnds) {
    for (const auto& [method, path] : that_end) {
        for (int turns = 0; turns < 20; ++turns) {
            {
                Served served;
                auto peer = served.say(method, path);
                for (int i = 0; i < turns; ++i) served.world.loop().turn(1ms);
            }
            ASSERT_EQ(Alive::count, 0) << path << ", after " << turns << " turns";
        }
    }
}

// A handler computes for longer than clients may take to send a head: they were not slow meanwhile.
TEST(AppEnds, AHandlerThatBlocksItsLoopCostsTheOthersTimeOnly) {
    Served served;
    served.app.get<"/blocks">([&served] {
        served.world.clock().advance(20s);
        return "at last";
    });
    auto uploads = served.connect();
    uploads->say("POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n0123456789");
    auto begins = served.connect();
    begins->say("GET /waits HTTP/1.1\r\nHo");
    served.world.settle();
    auto blocks = served.connect();
    uploads->say("0123456789");
    begins->say("st: a\r\n\r\n");
    blocks->say("GET /blocks HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(served.world.run_until([&] { return blocks->heard().contains("at last"); }));
    served.world.advance(1s);
    EXPECT_TRUE(uploads->heard().contains("answered")) << uploads->heard();
    EXPECT_TRUE(begins->heard().contains("answered")) << begins->heard();
}

}  // namespace
}  // namespace tiderace::http
