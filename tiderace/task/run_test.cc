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

}  // namespace
}  // namespace tiderace
