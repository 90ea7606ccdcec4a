#include "tiderace/db/pool_calls.h"

#include <gtest/gtest.h>

#include "tiderace/task/run.h"

namespace tiderace::db {
namespace {

using Kind = PoolCalls::Kind;

task::Task<> check() {
    task::Runner& runner = *task::Context::here().runner;
    PoolCalls one(runner, Kind::mariadb_kill);
    PoolCalls two(runner, Kind::mariadb_kill);
    PoolCalls other(runner, Kind::mariadb_open);
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

TEST(PoolCalls, ConnectionsOfALoopShareAFewPlaces) {
    task::run(check());
}

}  // namespace
}  // namespace tiderace::db
