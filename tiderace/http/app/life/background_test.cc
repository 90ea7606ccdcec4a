#include "tiderace/http/app/life/background.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "tiderace/http/app/app.h"
#include "tiderace/http/app/app_loop.h"
#include "tiderace/log/logger.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/task/sleep.h"
#include "tiderace/testing/environment_variable.h"
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

// A job that runs for `takes` and notes its begin and end.
class JobTest : public BackgroundTest {
  protected:
    auto job(Duration takes) {
        return [this, takes]() -> task::Task<> {
            trace += "<";
            co_await task::sleep(takes);
            trace += ">";
        };
    }
};

TEST_F(JobTest, RunsAtIntervalsAndNeverTwiceAtATime) {
    app.every(10s, "quick", job(1s));
    start();
    advance(9s);
    EXPECT_EQ(trace, "") << "the first run is after one interval";
    advance(2500ms);
    EXPECT_EQ(trace, "<>");
    advance(10s);
    EXPECT_EQ(trace, "<><>");
    advance(8500ms);
    EXPECT_EQ(trace, "<><><") << "at 30 s: the rhythm does not drift";
}

TEST_F(JobTest, WhatFallsDueWhileItRunsIsLeftOut) {
    app.every(10s, "slow", job(25s));
    start();
    advance(34s);
    EXPECT_EQ(trace, "<");
    advance(4s);
    EXPECT_EQ(trace, "<>") << "at 35 s it ended; 20 s and 30 s are over";
    advance(2500ms);
    EXPECT_EQ(trace, "<><");
}

TEST_F(JobTest, RunsAtTimesOfTheCalendar) {
    const testing::EnvironmentVariable zone("TZ", "UTC");
    ::tzset();
    app.at("50 1 * * *", "report", job(1s));  // the world begins on 2001-09-09 at 01:46:40
    start();
    advance(3min);
    EXPECT_EQ(trace, "");
    advance(22s);
    EXPECT_EQ(trace, "<>");
    advance(24h);
    EXPECT_EQ(trace, "<><>");
    world.clock().set_unix(world.loop().unix_now() + 7 * 86'400);
    advance(2min);
    EXPECT_EQ(trace, "<><><>") << "the clock was set a week ahead: one run";
    advance(1h);
    EXPECT_EQ(trace, "<><><>");
}

TEST_F(JobTest, OneThatFailsRunsAgain) {
    log::Doorbell bell;
    log::Ring ring(64_KiB, bell);
    struct Time final : log::TimeSource {
        std::int64_t unix_ms() override { return 1'000'000; }
    };
    Time time;
    log::Logger logger(ring, time);
    world.loop().set_log(&logger);
    int runs = 0;
    app.every(10s, "broken", [&runs]() -> task::Task<> {
        ++runs;
        throw std::runtime_error("out of paper");
        co_return;
    });
    start();
    advance(31s);
    world.loop().set_log(nullptr);
    EXPECT_EQ(runs, 3);
    const std::string lines = log::take_all(ring);
    EXPECT_THAT(lines, ::testing::HasSubstr("job=broken what=\"out of paper\"")) << lines;
}

TEST_F(JobTest, ADrainStartsNoMoreAndWaitsForTheOneThatRuns) {
    app.every(10s, "slow", job(5s));
    app.every(11s, "next", [this]() -> task::Task<> {
        trace += "x";
        co_return;
    });
    start();
    advance(10500ms);
    EXPECT_EQ(trace, "<");
    drain(60s);
    EXPECT_EQ(trace, "<");
    advance(6s);
    EXPECT_EQ(trace, "<>|done");
    advance(60s);
    EXPECT_EQ(trace, "<>|done");
}

TEST_F(JobTest, ADrainThatIsOverCancelsTheOneThatRuns) {
    app.every(10s, "endless", job(1h));
    start();
    advance(10500ms);
    drain(3s);
    advance(4s);
    EXPECT_EQ(trace, "<|done");
}

TEST_F(JobTest, ADrainWithoutARunIsOverAtOnce) {
    app.every(10s, "quick", job(1s));
    app.at("0 0 * * *", "report", job(1s));
    start();
    drain();
    EXPECT_EQ(trace, "|done");
}

TEST_F(JobTest, AScheduleThatIsNoneIsAFaultOfTheApp) {
    app.at("0 99 * * *", "report", job(1s));
    EXPECT_EQ(app.fault(), "job report: \"0 99 * * *\": the hour is 0 to 23, not \"99\"");
    App other;
    other.every(0s, "never", job(1s));
    EXPECT_EQ(other.fault(), "job never: an interval is at least 1 ms");
    App third;
    third.every(1s, "mails", [](std::string&) -> task::Task<> { co_return; });
    EXPECT_THAT(third.fault(),
                ::testing::StartsWith("job mails takes basic_string&, which nobody gives"));
}

}  // namespace
}  // namespace tiderace::http
