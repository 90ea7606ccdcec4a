#include "tiderace/task/states.h"

#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "tiderace/task/signature.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::task {
namespace {

struct Counter {
    int count = 0;
};
struct Settings {
    int port = 7;
};
struct Absent {};

class StatesTest : public ::testing::Test {
  protected:
    States make() {
        States states;
        all.make(world.loop(), states);
        return states;
    }
    tiderace::testing::FakeWorld world;
    Settings settings;
    LoopStates all =
        LoopStates()
            .state<Counter>([](core::EventLoop&) { return std::make_unique<Counter>(); })
            .share(settings);
};

TEST_F(StatesTest, EachLoopHasItsOwnAndAllHaveWhatIsShared) {
    const States here = make(), there = make();
    ++here.get<Counter>().count;
    EXPECT_EQ(here.get<Counter>().count, 1);
    EXPECT_EQ(there.get<Counter>().count, 0);
    EXPECT_EQ(here.find<const Settings>(), &settings);
    EXPECT_EQ(there.find<const Settings>(), &settings);
}

TEST_F(StatesTest, WhatIsSharedIsConstant) {
    const States states = make();
    EXPECT_EQ(states.find<Settings>(), nullptr);
    EXPECT_EQ(states.find<const Counter>(), states.find<Counter>());
    EXPECT_EQ(states.find<const Absent>(), nullptr);
    EXPECT_TRUE(all.has(state_key<Settings>, true));
    EXPECT_FALSE(all.has(state_key<Settings>, false));
}

TEST_F(StatesTest, AreFoundForTheParametersOfAFunction) {
    const States states = make();
    const auto count = [](Counter& counter, const Settings& found) {
        counter.count += found.port;
        return counter.count;
    };
    using Arguments = FunctionOf<decltype(count)>::Arguments<StateArguments>;
    const auto found = Arguments::find(states);
    ASSERT_TRUE(found);
    EXPECT_EQ(std::apply(count, *found), 7);
    EXPECT_EQ(states.get<Counter>().count, 7) << "a reference, and no copy";
    EXPECT_FALSE((StateArguments<Counter&, const Absent&>::find(states)));
    EXPECT_TRUE(StateArguments<>::find(states));
    static_assert(Arguments::fits);
    static_assert(!StateArguments<Counter>::fits);
    static_assert(!StateArguments<int&>::fits);
}

}  // namespace
}  // namespace tiderace::task
