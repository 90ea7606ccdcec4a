#include "tiderace/task/task.h"

#include <gtest/gtest.h>

#include <expected>
#include <memory>
#include <stdexcept>
#include <string>

#include "tiderace/task/runner_fixture.h"
#include "tiderace/task/when.h"

namespace tiderace::task {
namespace {

class TaskOf : public TaskTest {};

Task<int> seven() {
    co_return 7;
}
Task<int> twice(Task<int> inner) {
    co_return 2 * co_await std::move(inner);
}
Task<std::unique_ptr<int>> boxed(int value) {
    co_return std::make_unique<int>(value);
}
Task<int> failing() {
    throw std::runtime_error("out of tea");
    co_return 0;
}

TEST_F(TaskOf, AValueReachesTheOneThatAwaits) {
    int value = 0;
    run([](int& out) -> Task<> { out = co_await twice(twice(seven())); }(value));
    EXPECT_EQ(value, 28);
}

TEST_F(TaskOf, AValueThatCannotBeCopiedIsMoved) {
    int value = 0;
    run([](int& out) -> Task<> { out = *co_await boxed(9); }(value));
    EXPECT_EQ(value, 9);
}

TEST_F(TaskOf, BracesMakeItsValue) {
    struct Pair {
        int number = 7;
        std::string text;
    };
    struct Of {
        static Task<Pair> pair() { co_return {9, "tea for two, and for all the others"}; }
        static Task<std::expected<void, std::string>> nothing_wrong() { co_return {}; }
    };
    Pair pair;
    bool good = false;
    run([](Pair& out, bool& fine) -> Task<> {
        out = co_await Of::pair();
        const auto result = co_await Of::nothing_wrong();
        fine = result.has_value();
    }(pair, good));
    EXPECT_EQ(pair.number, 9);
    EXPECT_EQ(pair.text, "tea for two, and for all the others");
    EXPECT_TRUE(good);
}

TEST_F(TaskOf, AnExceptionIsThrownWhereTheTaskIsAwaited) {
    std::string seen;
    run([](std::string& out) -> Task<> {
        try {
            co_await twice(failing());
        } catch (const std::runtime_error& error) {
            out = error.what();
        }
    }(seen));
    EXPECT_EQ(seen, "out of tea");
}

TEST_F(TaskOf, AnExceptionThatNobodyCatchesReachesTheRoot) {
    EXPECT_THROW(run([]() -> Task<> { co_await failing(); }()), std::runtime_error);
}

TEST_F(TaskOf, NothingRunsBeforeTheAwait) {
    bool ran = false;
    {
        auto task = [](bool& out) -> Task<> {
            out = true;
            co_return;
        }(ran);
        EXPECT_FALSE(task.done());
    }
    EXPECT_FALSE(ran);
}

TEST_F(TaskOf, TwoHundredLevelsOfAwaitsPassAValueUp) {
    struct Level {
        static Task<int> down(int levels) {
            if (levels == 0) {
                co_await sleep(1ms);
                co_return 1;
            }
            co_return 1 + co_await down(levels - 1);
        }
    };
    int depth = 0;
    run([](int& out) -> Task<> { out = co_await Level::down(200); }(depth));
    EXPECT_EQ(depth, 201);
}

// Cancelled after 0, 1, 2 … steps: each frame ends once, innermost first.
TEST_F(TaskOf, DestroyedAtEveryAwaitAllFramesEnd) {
    struct Steps {
        static Task<> inner(std::string& log) {
            const Farewell bye(log, 'i');
            co_await sleep(1ms);
            co_await sleep(1ms);
        }
        static Task<> outer(std::string& log) {
            const Farewell bye(log, 'o');
            co_await sleep(1ms);
            co_await inner(log);
            co_await when_all(inner(log), inner(log));
        }
    };
    const char* expected[] = {"o", "io", "io", "iiio", "iiio"};
    for (int steps = 0; steps < 5; ++steps) {
        std::string log;
        Kept root;
        root.start(runner, Steps::outer(log));
        for (int i = 0; i < steps; ++i) world.advance(1ms);
        ASSERT_TRUE(root.alive()) << steps;
        root.cancel();
        EXPECT_FALSE(root.alive());
        EXPECT_EQ(log, expected[steps]) << "after " << steps << " ms";
        world.advance(10ms);
        EXPECT_FALSE(root.ended) << "a cancelled task does not end";
    }
}

}  // namespace
}  // namespace tiderace::task
