#include "tiderace/db/pool_calls.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "tiderace/core/child_process.h"
#include "tiderace/task/run.h"

namespace tiderace::db {
namespace {

using CallKind = PoolCalls::Kind;

task::Task<> check() {
    task::Runner& runner = *task::Context::here().runner;
    PoolCalls one(runner, CallKind::mariadb_kill);
    PoolCalls two(runner, CallKind::mariadb_kill);
    PoolCalls other(runner, CallKind::mariadb_open);
    auto first = one.take();
    auto copy = first;
    auto second = two.take();
    EXPECT_NE(first, nullptr);
    EXPECT_NE(second, nullptr);
    EXPECT_EQ(one.take(), nullptr) << "the bound is the loop's";
    EXPECT_NE(other.take(), nullptr) << "of one kind";
    EXPECT_FALSE(other.pending()) << "its place ended";
    first = nullptr;
    EXPECT_TRUE(one.pending()) << "a copy holds the place";
    EXPECT_EQ(two.take(), nullptr);
    copy = nullptr;
    EXPECT_FALSE(one.pending());
    EXPECT_TRUE(two.pending());
    EXPECT_NE(one.take(), nullptr);
    co_return;
}

// Each loop takes its own, and they outlive it.
TEST(PoolCalls, AllLoopsOfAProgramShareSomeMore) {
    std::vector<std::shared_ptr<void>> taken;
    const auto take = [&]() -> task::Task<bool> {
        PoolCalls calls(*task::Context::here().runner, CallKind::mariadb_kill);
        auto place = calls.take();
        const bool free = place != nullptr;
        if (free) taken.push_back(std::move(place));
        co_return free;
    };
    while (taken.size() <= PoolCalls::program_calls_max && task::run(take())) {
    }
    EXPECT_LE(taken.size(), PoolCalls::program_calls_max);
    EXPECT_FALSE(task::run(take()));
    taken.pop_back();
    EXPECT_TRUE(task::run(take()));
}

task::Task<> wait_for(int descriptor) {
    unique_function<void()> never([descriptor] {
        char byte = 0;
        (void)!::read(descriptor, &byte, 1);
    });
    co_await call_apart(std::move(never), task::Context::here().runner->loop().now() + 10ms);
}

TEST(PoolCallsDeathTest, TheEndOfTheProgramWaitsForNone) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto ends = core::Pipe::open();
    ASSERT_TRUE(ends);
    EXPECT_EXIT(
        {
            task::run(wait_for(ends->reading.get()));
            std::exit(7);
        },
        ::testing::ExitedWithCode(7), "");
}

TEST(PoolCalls, ConnectionsOfALoopShareAFewPlaces) {
    task::run(check());
}

}  // namespace
}  // namespace tiderace::db
