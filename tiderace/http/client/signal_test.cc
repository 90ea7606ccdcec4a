#include "tiderace/http/client/signal.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tiderace/base/moment.h"
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

task::Task<> wait_until(Signal& signal, Duration limit, std::string& told, char name) {
    const core::EventLoop& loop = task::Context::here().runner->loop();
    const bool in_time = co_await signal.wait_until(moment_after(loop.now(), limit));
    told += in_time ? std::string(1, name) : std::string("!") + name;
}

TEST(Signal, ADeadlineEndsOneWaitAlone) {
    testing::FakeWorld world;
    task::Runner runner(world.loop());
    Signal signal;
    std::string told;
    runner.spawn(wait_until(signal, 2s, told, 'a'));
    runner.spawn(wait_until(signal, 1s, told, 'b'));
    runner.spawn(wait_until(signal, Duration::max(), told, 'c'));
    runner.spawn([](Signal& signal, std::string& told) -> task::Task<> {
        const auto waited = co_await task::within(500ms, wait_until(signal, 1s, told, 'd'));
        if (!waited) told += "gone";
    }(signal, told));
    world.settle();
    EXPECT_EQ(told, "");
    world.advance(1s);
    EXPECT_EQ(told, "gone!b");
    signal.wake_all();
    world.settle();
    EXPECT_EQ(told, "gone!bac");
    world.advance(2s);
    EXPECT_EQ(told, "gone!bac");
    runner.spawn(wait_until(signal, -1s, told, 'e'));  // one that is over before
    world.settle();
    EXPECT_EQ(told, "gone!bac!e");
}

}  // namespace
}  // namespace tiderace::http
