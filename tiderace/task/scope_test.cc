#include "tiderace/task/scope.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tiderace/task/runner_fixture.h"
#include "tiderace/task/within.h"

namespace tiderace::task {
namespace {

class ScopeTest : public TaskTest {};

Task<> add_after(Duration wait, int& sum) {
    co_await sleep(wait);
    ++sum;
}

TEST_F(ScopeTest, JoinWaitsForAll) {
    int sum = 0;
    run([](int& out) -> Task<> {
        Scope scope;
        for (int i = 0; i < 10; ++i) scope.spawn(add_after(Duration(i) * 1'000'000, out));
        EXPECT_EQ(scope.size(), 10u);
        co_await scope.join();
        EXPECT_EQ(scope.size(), 0u);
        co_await scope.join();
    }(sum));
    EXPECT_EQ(sum, 10);
}

TEST_F(ScopeTest, ItsEndCancelsWhatRuns) {
    std::string log;
    run([](std::string& text) -> Task<> {
        {
            Scope scope;
            scope.spawn([](std::string& t) -> Task<> {
                const Farewell bye(t, 'x');
                co_await sleep(1h);
            }(text));
        }
        text += '.';
        co_return;
    }(log));
    EXPECT_EQ(log, "x.");
}

TEST_F(ScopeTest, AFailureCancelsTheOthersAndIsThrownByJoin) {
    int sum = 0;
    EXPECT_THROW(run([](int& out) -> Task<> {
                     Scope scope;
                     scope.spawn(add_after(1h, out));
                     scope.spawn([]() -> Task<> {
                         co_await sleep(1ms);
                         throw std::runtime_error("x");
                     }());
                     co_await scope.join();
                 }(sum)),
                 std::runtime_error);
    EXPECT_EQ(sum, 0);
    EXPECT_LT(elapsed(), 3ms);
}

TEST_F(ScopeTest, AParentThatDiesTakesItsChildrenWithIt) {
    std::string log;
    Kept root;
    root.start(runner, [](std::string& text) -> Task<> {
        const Farewell bye(text, 'p');
        Scope scope;
        scope.spawn([](std::string& t) -> Task<> {
            const Farewell gone(t, 'c');
            co_await sleep(1h);
        }(text));
        co_await scope.join();
    }(log));
    world.advance(1ms);
    root.cancel();
    EXPECT_EQ(log, "cp");
}

// The child that runs is what ends its parent: it goes on until it waits, then ends.
TEST_F(ScopeTest, AChildMayCancelItsScope) {
    std::string log;
    run([](std::string& text) -> Task<> {
        Scope scope;
        scope.spawn([](Scope& mine, std::string& t) -> Task<> {
            const Farewell bye(t, 'x');
            co_await sleep(1ms);
            mine.cancel();
            t += '1';
            co_await sleep(1ms);
            t += '2';
        }(scope, text));
        co_await scope.join();
        text += 'j';
        co_await sleep(10ms);
    }(log));
    EXPECT_EQ(log, "1xj");
}

TEST_F(ScopeTest, ChildrenInheritTheDeadline) {
    int sum = 0;
    run([](int& out) -> Task<> {
        auto done = co_await within(10ms, [](int& o) -> Task<> {
            Scope scope;
            scope.spawn([](int& inner) -> Task<> {
                EXPECT_NE(deadline(), Instant::max());
                co_await sleep(1h);
                ++inner;
            }(o));
            co_await scope.join();
        }(out));
        EXPECT_FALSE(done);
    }(sum));
    EXPECT_EQ(sum, 0);
}

TEST_F(ScopeTest, ACancelledJoinLeavesTheScopeUsable) {
    int sum = 0;
    run([](int& out) -> Task<> {
        Scope scope;
        scope.spawn(add_after(10ms, out));
        EXPECT_FALSE(co_await within(1ms, [](Scope& s) -> Task<> { co_await s.join(); }(scope)));
        co_await scope.join();
    }(sum));
    EXPECT_EQ(sum, 1);
}

TEST_F(ScopeTest, KeepsTheLambdaForAsLongAsItsTaskRuns) {
    std::string log;
    run([](std::string& text) -> Task<> {
        Scope scope;
        {
            // Long enough not to lie in the string itself, so that a sanitizer sees it go.
            const std::string word(100, 'w');
            scope.spawn([word, &text]() -> Task<> {
                co_await sleep(1ms);
                text += word;
            });
        }
        co_await scope.join();
    }(log));
    EXPECT_EQ(log, std::string(100, 'w'));
}

}  // namespace
}  // namespace tiderace::task
