#include "tiderace/core/wakeup.h"

#include <gtest/gtest.h>

#include "tiderace/core/event_loop.h"

namespace tiderace::core {
namespace {

class WakeCounter final : public Wakeup {
  public:
    using Wakeup::Wakeup;
    int woken = 0;

  private:
    void on_woken() override { ++woken; }
};

TEST(WakeupList, OneRunForManyWakes) {
    auto loop = EventLoop::create({});
    ASSERT_TRUE(loop);
    WakeCounter counted(**loop);
    counted.wake();
    counted.wake();
    (*loop)->wakeups()->run();
    EXPECT_EQ(counted.woken, 1);
    (*loop)->wakeups()->run();
    EXPECT_EQ(counted.woken, 1);
}

TEST(WakeupList, AClosedListWakesNothing) {
    auto loop = EventLoop::create({});
    ASSERT_TRUE(loop);
    WakeCounter counted(**loop);
    counted.wake();
    (*loop)->wakeups()->close();
    (*loop)->wakeups()->run();
    counted.wake();
    (*loop)->wakeups()->run();
    EXPECT_EQ(counted.woken, 0);
}

}  // namespace
}  // namespace tiderace::core
