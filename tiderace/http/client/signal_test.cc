#include "tiderace/http/client/signal.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tiderace/task/sleep.h"
#include "tiderace/task/within.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::http {
namespace {

task::Task<> wait_and_note(Signal& signal, std::string& told, char name) {
    co_await signal.wait();
    told += name;
}

TEST(Signal, WakesAllThatWaitAndForgetsThoseThatWent) {
    testing::FakeWorld world;
    task::Runner runner(world.loop());
    Signal signal;
    std::string told;
    runner.spawn(wait_and_note(signal, told, 'a'));
    runner.spawn([](Signal& signal, std::string& told) -> task::Task<> {
        const auto waited = co_await task::within(1s, wait_and_note(signal, told, 'b'));
        if (!waited) told += "late";
    }(signal, told));
    world.advance(2s);
    EXPECT_EQ(told, "late");
    runner.spawn(wait_and_note(signal, told, 'c'));
    signal.wake_all();
    signal.wake_all();
    EXPECT_EQ(told, "late");  // not inside the call
    world.settle();
    EXPECT_EQ(told, "lateac");
}

}  // namespace
}  // namespace tiderace::http
