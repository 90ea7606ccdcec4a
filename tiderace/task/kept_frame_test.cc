#include "tiderace/task/kept_frame.h"

#include <gtest/gtest.h>

#include <memory>

#include "tiderace/task/runner_fixture.h"

namespace tiderace::task {
namespace {

using LastingTest = TaskTest;

class Frame final : public KeptFrame {
  public:
    explicit Frame(int& ended) : ended_(&ended) {}

  private:
    void end() override {
        ++*ended_;
        delete this;
    }
    int* ended_;
};

TEST_F(LastingTest, ItEndsWithTheRunnerThatKeptItLast) {
    int ended = 0;
    auto first = std::make_unique<Runner>(world.loop());
    auto second = std::make_unique<Runner>(world.loop());
    auto* const frame = new Frame(ended);
    first->keep(*frame);
    second->keep(*frame);
    first.reset();
    EXPECT_EQ(ended, 0);
    second.reset();
    EXPECT_EQ(ended, 1);
}

TEST_F(LastingTest, OneThatHasEndedBeforeIsForgotten) {
    int ended = 0;
    auto brief = std::make_unique<Runner>(world.loop());
    auto frame = std::make_unique<Frame>(ended);
    brief->keep(*frame);
    frame.reset();
    brief.reset();
    EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace tiderace::task
