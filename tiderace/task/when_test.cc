#include "tiderace/task/when.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tiderace/task/runner_fixture.h"
#include "tiderace/task/within.h"

namespace tiderace::task {
namespace {

class WhenTest : public TaskTest {};

Task<int> after(Duration wait, int value) {
    if (wait > Duration::zero()) co_await sleep(wait);
    co_return value;
}
Task<> fail_after(Duration wait) {
    if (wait > Duration::zero()) co_await sleep(wait);
    throw std::runtime_error("broken");
}

TEST_F(WhenTest, AllRunAtOnce) {
    int sum = 0;
    run([](int& out) -> Task<> {
        auto [a, b, nothing] = co_await when_all(after(30ms, 1), after(20ms, 2), sleep(10ms));
        static_assert(std::is_same_v<decltype(nothing), std::monostate>);
        out = a + b;
    }(sum));
    EXPECT_EQ(sum, 3);
    EXPECT_LT(elapsed(), 32ms);
}

TEST_F(WhenTest, AllOfAVectorKeepTheirOrder) {
    std::vector<int> values;
    run([](std::vector<int>& out) -> Task<> {
        std::vector<Task<int>> tasks;
        for (int i = 0; i < 100; ++i) tasks.push_back(after(Duration(100 - i) * 1'000'000, i));
        out = co_await when_all(std::move(tasks));
    }(values));
    ASSERT_EQ(values.size(), 100u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
}

TEST_F(WhenTest, AllOfNothingEndsAtOnce) {
    run([]() -> Task<> { co_await when_all(std::vector<Task<>>{}); }());
    EXPECT_EQ(elapsed(), 0ms);
}

TEST_F(WhenTest, AFailureCancelsTheOthers) {
    std::string log;
    EXPECT_THROW(run([](std::string& text) -> Task<> {
                     const auto slow = [](std::string& t) -> Task<> {
                         const Farewell bye(t, 'x');
                         co_await sleep(1h);
                     };
                     co_await when_all(slow(text), fail_after(1ms), slow(text));
                 }(log)),
                 std::runtime_error);
    EXPECT_EQ(log, "xx");
    EXPECT_LT(elapsed(), 3ms);
}

TEST_F(WhenTest, AFailureAtOnceKeepsTheRestFromStarting) {
    bool started = false;
    EXPECT_THROW(run([](bool& out) -> Task<> {
                     co_await when_all(fail_after(0ms), [](bool& o) -> Task<> {
                         o = true;
                         co_return;
                     }(out));
                 }(started)),
                 std::runtime_error);
    EXPECT_FALSE(started);
}

TEST_F(WhenTest, AnyGivesTheFirstAndCancelsTheOthers) {
    std::string log;
    std::size_t which = 9;
    run([](std::string& text, std::size_t& out) -> Task<> {
        auto first = co_await when_any(
            [](std::string& t) -> Task<> {
                const Farewell bye(t, 'x');
                co_await sleep(1h);
            }(text),
            after(5ms, 42));
        out = first.index();
        EXPECT_EQ(std::get<1>(first), 42);
    }(log, which));
    EXPECT_EQ(which, 1u);
    EXPECT_EQ(log, "x");
}

// One of them stands under a deadline of its own when the other is started.
TEST_F(WhenTest, EachKeepsItsOwnContext) {
    run([]() -> Task<> {
        co_await when_all([]() -> Task<> { EXPECT_FALSE(co_await within(1ms, sleep(1h))); }(),
                          []() -> Task<> {
                              EXPECT_EQ(deadline(), Instant::max());
                              co_await sleep(5ms);
                              EXPECT_EQ(deadline(), Instant::max());
                          }());
        EXPECT_EQ(deadline(), Instant::max());
    }());
}

}  // namespace
}  // namespace tiderace::task
