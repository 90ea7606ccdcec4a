#include "tiderace/task/generator.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/task/runner_fixture.h"
#include "tiderace/task/within.h"

namespace tiderace::task {
namespace {

class GeneratorTest : public TaskTest {};

Generator<int> count_to(int last, Duration pause) {
    for (int i = 1; i <= last; ++i) {
        if (pause > Duration::zero()) co_await sleep(pause);
        co_yield i;
    }
}

TEST_F(GeneratorTest, ItGivesItsValuesThenEnds) {
    for (Duration pause : {Duration(0), Duration(1ms)}) {
        std::vector<int> got;
        run([](Duration wait, std::vector<int>& out) -> Task<> {
            auto numbers = count_to(5, wait);
            while (auto number = co_await numbers.next()) out.push_back(*number);
            EXPECT_EQ(co_await numbers.next(), std::nullopt);
        }(pause, got));
        EXPECT_EQ(got, (std::vector<int>{1, 2, 3, 4, 5}));
    }
}

TEST_F(GeneratorTest, ItRunsOnlyWhenAsked) {
    int made = 0;
    run([](int& count) -> Task<> {
        auto values = [](int& c) -> Generator<int> {
            for (;;) co_yield ++c;
        }(count);
        co_await sleep(1s);
        EXPECT_EQ(count, 0);
        EXPECT_EQ(co_await values.next(), 1);
        co_await sleep(1s);
        EXPECT_EQ(count, 1);
    }(made));
}

TEST_F(GeneratorTest, WhatItThrowsIsThrownByNextOnce) {
    run([]() -> Task<> {
        auto values = []() -> Generator<int> {
            co_yield 1;
            throw std::runtime_error("no more");
        }();
        EXPECT_EQ(co_await values.next(), 1);
        bool thrown = false;
        try {
            (void)co_await values.next();
        } catch (const std::runtime_error&) {
            thrown = true;
        }
        EXPECT_TRUE(thrown);
        EXPECT_EQ(co_await values.next(), std::nullopt);
    }());
}

TEST_F(GeneratorTest, ACancelledNextLosesNoValue) {
    run([]() -> Task<> {
        auto numbers = count_to(3, 10ms);
        EXPECT_FALSE(co_await within(1ms, [](auto& g) -> Task<std::optional<int>> {
            co_return co_await g.next();
        }(numbers)));
        EXPECT_EQ(co_await numbers.next(), 1);  // asked again while it still works on it
        EXPECT_FALSE(co_await within(1ms, [](auto& g) -> Task<std::optional<int>> {
            co_return co_await g.next();
        }(numbers)));
        co_await sleep(50ms);
        EXPECT_EQ(co_await numbers.next(), 2);  // made meanwhile
        EXPECT_EQ(co_await numbers.next(), 3);
    }());
}

// It still waits when the deadline that it inherited has gone with the task that had set it.
TEST_F(GeneratorTest, ItInheritsFromTheOneThatAsksAndKeepsNothingOfAnEarlierOne) {
    const auto deadlines = []() -> Generator<Instant> {
        for (;;) {
            co_await sleep(10ms);
            co_yield deadline();
        }
    };
    const auto ask = [](Generator<Instant>& from) -> Task<std::optional<Instant>> {
        co_return co_await from.next();
    };
    // A frame of its own, which is gone when the generator goes on.
    const auto ask_in_vain = [](auto& ask, Generator<Instant>& from) -> Task<> {
        EXPECT_FALSE(co_await within(1ms, ask(from)));
    };
    run([](auto& make, auto& ask, auto& ask_in_vain) -> Task<> {
        auto values = make();
        co_await ask_in_vain(ask, values);
        EXPECT_EQ(co_await values.next(), Instant::max()) << "asked while it still waited";
        co_await ask_in_vain(ask, values);
        co_await sleep(50ms);  // it goes on alone
        (void)co_await values.next();
        EXPECT_EQ(co_await values.next(), Instant::max());
    }(deadlines, ask, ask_in_vain));
}

// Its await under a deadline of its own goes on as a part of the task that calls now: the first
// caller may be gone.
TEST_F(GeneratorTest, ItBelongsToTheOneThatAsksInsideItsOwnDeadlinesToo) {
    Kept first;
    Kept second;
    bool is_the_seconds = false;
    const auto wait = [](const Kept& root, bool& is_its) -> Task<> {
        co_await sleep(1s);
        is_its = root.on_stack();
    };
    const auto make = [](auto& wait, const Kept& root, bool& is_its) -> Generator<int> {
        const auto wait_longer = [](auto& wait, const Kept& root, bool& is_its) -> Task<> {
            EXPECT_TRUE(co_await within(1h, wait(root, is_its)));
        };
        EXPECT_TRUE(co_await within(2h, wait_longer(wait, root, is_its)));
        co_yield 7;
    };
    const auto ask = [](Generator<int>& from) -> Task<> { EXPECT_EQ(co_await from.next(), 7); };
    auto values = make(wait, second, is_the_seconds);
    first.start(runner, ask(values));
    first.cancel();
    second.start(runner, ask(values));
    ASSERT_TRUE(world.run_until([&] { return second.ended; }));
    EXPECT_TRUE(is_the_seconds);
}

TEST_F(GeneratorTest, DestroyedAtAnAwaitItsFrameEnds) {
    std::string log;
    Kept root;
    root.start(runner, [](std::string& text) -> Task<> {
        auto values = [](std::string& t) -> Generator<int> {
            const Farewell bye(t, 'g');
            co_await sleep(1h);
            co_yield 1;
        }(text);
        (void)co_await values.next();
    }(log));
    root.cancel();
    EXPECT_EQ(log, "g");
}

// Its holder may be an object that lives longer than the loop.
TEST_F(GeneratorTest, OneThatOutlivesItsRunnerEndsWithIt) {
    for (const Duration pause : {Duration(0), Duration(1h)}) {  // at a value, at an await
        std::string log;
        Generator<int> values;
        {
            tiderace::testing::FakeWorld other;
            Runner brief(other.loop());
            Kept root;
            root.start(brief, [](Generator<int>& out, std::string& text, Duration wait) -> Task<> {
                out = [](std::string& t, Duration w) -> Generator<int> {
                    const Farewell bye(t, 'g');
                    co_yield 1;
                    if (w > Duration::zero()) co_await sleep(w);
                    co_yield 2;
                }(text, wait);
                EXPECT_EQ(co_await out.next(), 1);
                (void)co_await within(1ms, [](auto& g) -> Task<std::optional<int>> {
                    co_return co_await g.next();
                }(out));
            }(values, log, pause));
            ASSERT_TRUE(other.run_until([&] { return root.ended; }));
            EXPECT_EQ(log, "");
        }
        EXPECT_EQ(log, "g");
        EXPECT_FALSE(values);
        Generator<int> moved = std::move(values);
        run([](Generator<int>& out) -> Task<> {
            EXPECT_EQ(co_await out.next(), std::nullopt);
        }(moved));
    }
}

// The inner one waits, and the outer one for it; the inner one began first.
TEST_F(GeneratorTest, OneThatWaitsForAnotherEndsWithTheRunnerToo) {
    std::string log;
    Generator<int> kept;
    {
        tiderace::testing::FakeWorld other;
        Runner brief(other.loop());
        Kept root;
        root.start(brief, [](Generator<int>& out, std::string& text) -> Task<> {
            auto inner = [](std::string& t) -> Generator<int> {
                const Farewell bye(t, 'i');
                co_yield 1;
                co_await sleep(1h);
            }(text);
            EXPECT_EQ(co_await inner.next(), 1);
            out = [](Generator<int> from, std::string& t) -> Generator<int> {
                const Farewell bye(t, 'o');
                while (auto value = co_await from.next()) co_yield *value;
            }(std::move(inner), text);
            (void)co_await within(
                1ms, [](auto& g) -> Task<std::optional<int>> { co_return co_await g.next(); }(out));
        }(kept, log));
        ASSERT_TRUE(other.run_until([&] { return root.ended; }));
    }
    EXPECT_EQ(log.size(), 2U);
    EXPECT_FALSE(kept);
}

TEST_F(GeneratorTest, OneWhoseTaskHasEndedGoesOnAndTheNextTaskGetsItsValue) {
    Generator<int> numbers = count_to(2, 10ms);
    const auto ask = [](Generator<int>& g) -> Task<> { (void)co_await g.next(); };
    auto first = std::make_unique<Kept>();
    first->start(runner, ask(numbers));
    first.reset();
    // It makes its value while no task waits for it.
    run([]() -> Task<> { co_await sleep(50ms); }());
    run([](Generator<int>& g) -> Task<> {
        EXPECT_EQ(co_await g.next(), 1);
        EXPECT_EQ(co_await g.next(), 2);
    }(numbers));
}

TEST_F(GeneratorTest, AMillionValuesNeedNoStack) {
    std::int64_t sum = 0;
    run([](std::int64_t& out) -> Task<> {
        auto numbers = count_to(1'000'000, Duration(0));
        while (auto number = co_await numbers.next()) out += *number;
    }(sum));
    EXPECT_EQ(sum, 500'000'500'000);
}

}  // namespace
}  // namespace tiderace::task
