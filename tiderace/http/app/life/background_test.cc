#include "tiderace/http/app/life/background.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "tiderace/http/app/app.h"
#include "tiderace/http/app/app_loop.h"
#include "tiderace/task/sleep.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::http {
namespace {

// Notes when it ends.
struct Trace {
    explicit Trace(std::string& text, std::string word) : text(&text), word(std::move(word)) {}
    ~Trace() { *text += word; }
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;
    std::string* text;
    std::string word;
};

class BackgroundTest : public ::testing::Test {
  protected:
    void start() {
        loop_.emplace(world.loop(), app, nullptr);
        world.settle();
    }
    void advance(Duration by) {
        world.advance(by);
        world.settle();
    }
    void drain(Duration limit = 10s) {
        loop_->drain(world.clock().now() + limit, [this] { trace += "|done"; });
        world.settle();
    }

    testing::FakeWorld world;
    App app;
    std::string trace;
    std::optional<AppLoop> loop_;
};

TEST_F(BackgroundTest, ItRunsBesideTheRequestsAndIsCancelledAtTheEnd) {
    app.background([this]() -> task::Task<> {
        const Trace end(trace, "end");
        for (;;) {
            trace += "x";
            co_await task::sleep(1s);
        }
    });
    EXPECT_EQ(trace, "");
    start();
    EXPECT_EQ(trace, "x");
    advance(1500ms);
    EXPECT_EQ(trace, "xx");
    loop_.reset();
    EXPECT_EQ(trace, "xxend");
}

TEST_F(BackgroundTest, OnceInAProcessOrOnEachLoop) {
    app.background([this]() -> task::Task<> {
        trace += "once ";
        co_return;
    });
    app.background(
        [this]() -> task::Task<> {
            trace += "each ";
            co_return;
        },
        {.each_loop = true});
    start();
    AppLoop second(world.loop(), app, nullptr);
    world.settle();
    EXPECT_EQ(trace, "once each each ");
}

TEST_F(BackgroundTest, ItTakesStates) {
    struct Count {
        int n = 0;
    };
    const std::string word = "shared";
    app.share(word).state<Count>([](core::EventLoop&) { return std::make_unique<Count>(); });
    app.background([this](Count& count, const std::string& shared) -> task::Task<> {
        trace = shared + std::to_string(++count.n);
        co_return;
    });
    // Neither of these states is there, or may be changed: it does not run.
    app.background([this](std::string&) -> task::Task<> {
        trace += "!";
        co_return;
    });
    start();
    EXPECT_EQ(trace, "shared1");
    drain();
    EXPECT_EQ(trace, "shared1|done");
}

// `&app` would refer to an App that is gone.
TEST_F(BackgroundTest, ItSeesTheLifeOfAnAppThatMoved) {
    {
        App mounted;
        mounted.background(
            [this](const Life& life) -> task::Task<> {
                while (!life.draining()) co_await task::sleep(1s);
                trace += "m";
            },
            {.grace = 5s});
        App made;
        made.background(
            [this](const Life& life) -> task::Task<> {
                co_await task::sleep(1s);
                life.drain();
                while (!life.draining()) co_await task::sleep(1s);
                trace += "a";
            },
            {.grace = 5s});
        made.mount("/inner", std::move(mounted));
        app = std::move(made);
    }
    start();
    EXPECT_FALSE(app.draining());
    advance(3s);
    EXPECT_TRUE(app.draining());
    EXPECT_EQ(trace.size(), 2U) << trace;
}

TEST_F(BackgroundTest, WithoutGraceDrainingCancelsItAtOnce) {
    app.background([this]() -> task::Task<> {
        const Trace end(trace, "end");
        co_await task::sleep(1h);
    });
    start();
    drain();
    EXPECT_EQ(trace, "end|done");
}

TEST_F(BackgroundTest, GraceLetsItFinishWhatItDoes) {
    app.background(
        [this]() -> task::Task<> {
            while (!app.draining()) {
                co_await task::sleep(2s);
                trace += "x";
            }
        },
        {.grace = 5s});
    start();
    advance(3s);
    app.drain();
    drain();
    EXPECT_EQ(trace, "x");
    advance(1100ms);
    EXPECT_EQ(trace, "xx|done");
}

TEST_F(BackgroundTest, GraceAndTheDeadlineOfDrainingEnd) {
    app.background(
        [this]() -> task::Task<> {
            const Trace end(trace, "five");
            co_await task::sleep(1h);
        },
        {.grace = 5s});
    app.background(
        [this]() -> task::Task<> {
            const Trace end(trace, " ten");
            co_await task::sleep(1h);
        },
        {.grace = 1h});
    start();
    drain(10s);
    advance(4s);
    EXPECT_EQ(trace, "");
    advance(1100ms);
    EXPECT_EQ(trace, "five");
    advance(5s);
    EXPECT_EQ(trace, "five ten|done");
}

TEST_F(BackgroundTest, GraceMayLastAsLongAsDrainingDoes) {
    app.background(
        [this]() -> task::Task<> {
            const Trace end(trace, "end");
            co_await task::sleep(1h);
        },
        {.grace = Duration::max()});
    start();
    drain(10s);
    advance(9s);
    EXPECT_EQ(trace, "");
    advance(1100ms);
    EXPECT_EQ(trace, "end|done");
}

TEST_F(BackgroundTest, AnExceptionEndsItUnlessItIsRestartedEachTimeLater) {
    app.background([this]() -> task::Task<> {
        trace += "a";
        throw std::runtime_error("once");
        co_return;
    });
    app.background(
        [this]() -> task::Task<> {
            trace += "b";
            throw std::runtime_error("again");
            co_return;
        },
        {.restart = 1s, .restart_max = 3s});
    start();
    EXPECT_EQ(trace, "ab");
    advance(1100ms);
    EXPECT_EQ(trace, "abb");
    advance(1100ms);
    EXPECT_EQ(trace, "abb");  // two seconds this time
    advance(1s);
    EXPECT_EQ(trace, "abbb");
    advance(3100ms);
    EXPECT_EQ(trace, "abbbb");  // three, and not four
    drain();
    EXPECT_EQ(trace, "abbbb|done");
    advance(1h);
    EXPECT_EQ(trace, "abbbb|done");
}

TEST_F(BackgroundTest, ARestAboveTheLongestIsKept) {
    app.background(
        [this]() -> task::Task<> {
            trace += "x";
            throw std::runtime_error("again");
            co_return;
        },
        {.restart = 5min});
    app.background(
        [this]() -> task::Task<> {
            trace += "y";
            throw std::runtime_error("once");
            co_return;
        },
        {.restart = Duration::max()});
    start();
    EXPECT_EQ(trace, "xy");
    advance(4min);
    EXPECT_EQ(trace, "xy");
    advance(61s);
    EXPECT_EQ(trace, "xyx");
    advance(4min);
    EXPECT_EQ(trace, "xyx");
    advance(61s);
    EXPECT_EQ(trace, "xyxx");  // not ten minutes
}

TEST_F(BackgroundTest, OneThatRanLongRestartsSoon) {
    app.background(
        [this]() -> task::Task<> {
            trace += "x";
            if (trace.size() < 3) throw std::runtime_error("at once");
            if (trace.size() == 3) co_await task::sleep(1min);
            throw std::runtime_error("at last");
        },
        {.restart = 1s, .restart_max = 1min});
    start();
    advance(1100ms);
    advance(2100ms);
    EXPECT_EQ(trace, "xxx");
    advance(1min);
    advance(1100ms);
    EXPECT_EQ(trace, "xxxx");
}

TEST_F(BackgroundTest, DrainedBeforeItBeganItNeverBegins) {
    app.background([this]() -> task::Task<> {
        trace += "x";
        co_return;
    });
    loop_.emplace(world.loop(), app, nullptr);
    drain();
    EXPECT_EQ(trace, "|done");
}

}  // namespace
}  // namespace tiderace::http
