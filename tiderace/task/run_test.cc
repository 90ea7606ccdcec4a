#include "tiderace/task/run.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tiderace/task.h"

namespace tiderace {
namespace {

TEST(Run, ATaskThatNeverWaitsIsRunToItsEnd) {
    EXPECT_EQ(tiderace::run([]() -> Task<std::string> { co_return "done"; }()), "done");
    tiderace::run([]() -> Task<> { co_return; }());
}

TEST(Run, WhatTheTaskThrowsIsThrown) {
    EXPECT_THROW(tiderace::run([]() -> Task<> {
                     co_await tiderace::sleep(1ms);
                     throw std::domain_error("x");
                 }()),
                 std::domain_error);
}

TEST(RunDeathTest, OnALoopsThreadSaysWhatToDo) {
    const auto run_twice = [] {
        tiderace::run([]() -> Task<> {
            tiderace::run([]() -> Task<> { co_return; }());
            co_return;
        }());
    };
    const auto run_later = [] {
        tiderace::run([]() -> Task<> {
            co_await tiderace::sleep(1ms);  // now the loop turns
            tiderace::run([]() -> Task<> { co_return; }());
        }());
    };
    EXPECT_DEATH(run_twice(), "co_await the task");
    EXPECT_DEATH(run_later(), "co_await the task");
}

}  // namespace
}  // namespace tiderace
