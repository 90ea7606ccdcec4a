#include "tiderace/tls/loop_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tiderace/log/logger.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::tls {
namespace {

struct CountedStep final : Step {
    void take_step() override { ++taken; }
    int taken = 0;
};

TEST(LoopParts, TakesOnlySoManyStepsInATurn) {
    testing::FakeWorld world;
    LoopParts parts(world.loop(), 3, 1s);
    std::vector<CountedStep> steps(8);
    for (CountedStep& step : steps) parts.step_later(step);
    const auto taken = [&] {
        int all = 0;
        for (const CountedStep& step : steps) all += step.taken;
        return all;
    };
    EXPECT_EQ(taken(), 0);
    for (const int after : {3, 6, 8, 8}) {
        world.loop().turn(Duration::zero());
        EXPECT_EQ(taken(), after);
    }
    for (const CountedStep& step : steps) EXPECT_EQ(step.taken, 1);
}

TEST(LoopParts, AStepThatIsGoneIsNotTaken) {
    testing::FakeWorld world;
    LoopParts parts(world.loop(), 3, 1s);
    CountedStep stays;
    {
        CountedStep goes;
        parts.step_later(goes);
        parts.step_later(stays);
        parts.step_later(stays);
    }
    world.loop().turn(Duration::zero());
    EXPECT_EQ(stays.taken, 1);
}

TEST(LoopParts, ALongSendContinuesOnceInALaterTurn) {
    testing::FakeWorld world;
    LoopParts parts(world.loop(), 1, 1s);
    struct Endless final : Step {
        explicit Endless(LoopParts& all) : parts(&all) {}
        void take_step() override {
            ++taken;
            parts->send_later(*this);
        }
        LoopParts* parts;
        int taken = 0;
    };
    Endless one(parts), two(parts);
    world.loop().turn(Duration::zero());
    parts.send_later(one);
    parts.send_later(two);
    for (int turns = 1; turns <= 3; ++turns) {
        world.loop().turn(Duration::zero());
        EXPECT_EQ(one.taken, turns);
        EXPECT_EQ(two.taken, turns);
    }
}

TEST(LoopParts, CountsByReason) {
    testing::FakeWorld world;
    LoopParts parts(world.loop(), 3, 1s);
    parts.count_done(true, false, 1ms);
    parts.count_done(false, true, 1ms);
    parts.count_failure(HandshakeFailure::deadline, "");
    EXPECT_EQ(parts.counters().done(), 2U);
    EXPECT_EQ(parts.counters().resumed(), 1U);
    EXPECT_EQ(parts.counters().failures(HandshakeFailure::deadline), 1U);
    EXPECT_EQ(parts.counters().failures(HandshakeFailure::plain_http), 0U);
}

TEST(LoopParts, LogsSoManyFailuresASecondAndCountsAll) {
    testing::FakeWorld world;
    log::Doorbell bell;
    log::Ring ring(64_KiB, bell);
    log::SystemTime time;
    log::Logger logger(ring, time, {.level = log::Level::debug});
    world.loop().set_log(&logger);
    LoopParts parts(world.loop(), 3, 1s);
    for (int second = 1; second <= 2; ++second) {
        for (int i = 0; i < 15; ++i) parts.count_failure(HandshakeFailure::not_tls, "why");
        EXPECT_EQ(std::ranges::count(log::take_all(ring), '\n'),
                  LoopParts::log_lines_per_second_max);
        world.advance(1s);
    }
    EXPECT_EQ(parts.counters().failures(HandshakeFailure::not_tls), 30U);
}

}  // namespace
}  // namespace tiderace::tls
