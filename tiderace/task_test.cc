#include "tiderace/task.h"

#include <gtest/gtest.h>

namespace tiderace {
namespace {

// The example at the top of tiderace/task.h.
Task<int> slow_answer() {
    co_await tiderace::sleep(10ms);
    co_return 42;
}
Task<int> ask() {
    auto answer = co_await tiderace::within(1s, slow_answer());
    co_return answer ? *answer : -1;
}

TEST(Run, TheExampleOfTheFace) {
    EXPECT_EQ(tiderace::run(ask()), 42);
}

}  // namespace
}  // namespace tiderace
