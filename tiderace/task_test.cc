#include "tiderace/task.h"

// The example of the header, which includes what it needs.
#define main task_example_main
#include "task_example.h"
#undef main

#include <gtest/gtest.h>

namespace tiderace {
namespace {

TEST(TaskHeader, RunsItsExample) {
    EXPECT_EQ(run(slow_answer()), 42);
    EXPECT_EQ(task_example_main(), 0);
}

}  // namespace
}  // namespace tiderace
