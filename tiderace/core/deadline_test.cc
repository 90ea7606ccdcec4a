#include "tiderace/core/deadline.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/testing/fake_world.h"

namespace tiderace::core {
namespace {

class DeadlineTest : public ::testing::Test {
  protected:
    struct Work final : Deadline {
        explicit Work(std::string& l) : log(&l) {}
        void on_passed() override { *log += 'p'; }
        std::string* log;
    };
    struct Resumed final : TurnEnd {
        void on_turn_end() override {
            *log += 'r';
            if (done != nullptr) done->disarm();
        }
        std::string* log = nullptr;
        Deadline* done = nullptr;
    };
    struct Sleep final : Timer {
        void on_expired() override { loop->at_turn_end(*wakes); }
        EventLoop* loop = nullptr;
        TurnEnd* wakes = nullptr;
    };

    EventLoop& loop() { return world.loop(); }

    testing::FakeWorld world;
    std::string log;
    Work work{log};
};

TEST_F(DeadlineTest, PassesOnceInTime) {
    work.arm(loop(), loop().now() + 5s);
    world.advance(4s);
    EXPECT_EQ(log, "");
    world.advance(2s);
    EXPECT_EQ(log, "p");
    world.advance(1h);
    EXPECT_EQ(log, "p");
}

TEST_F(DeadlineTest, ALoopThatWasBlockedFirstResumesWhatIsWoken) {
    for (const bool work_is_done : {true, false}) {
        log.clear();
        Resumed resumed;
        resumed.log = &log;
        resumed.done = work_is_done ? &work : nullptr;
        Sleep sleep;
        sleep.loop = &loop();
        sleep.wakes = &resumed;
        loop().arm(sleep, loop().now() + 1s);
        work.arm(loop(), loop().now() + 5s);
        loop().turn(0s);
        world.clock().advance(10s);
        world.settle();
        EXPECT_EQ(log, work_is_done ? "r" : "rp");
    }
}

TEST_F(DeadlineTest, ArmedAnewItCountsAnew) {
    work.arm(loop(), loop().now() + 1s);
    world.clock().advance(2s);
    loop().turn(0s);  // it is due, and passes in the next turn
    work.arm(loop(), loop().now() + 5s);
    loop().turn(0s);
    EXPECT_EQ(log, "");
    world.clock().advance(6s);
    loop().turn(0s);
    EXPECT_EQ(log, "");
    loop().turn(0s);
    EXPECT_EQ(log, "p");
}

TEST_F(DeadlineTest, DisarmedBeforeItIsArmedNothingHappens) {
    work.disarm();
    world.advance(1h);
    EXPECT_EQ(log, "");
}

}  // namespace
}  // namespace tiderace::core
