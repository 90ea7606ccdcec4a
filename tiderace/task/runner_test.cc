#include "tiderace/task/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "tiderace/log/doorbell.h"
#include "tiderace/log/logger.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/task/runner_fixture.h"
#include "tiderace/task/semaphore.h"

namespace tiderace::task {
namespace {

class RunnerTest : public TaskTest {};

TEST_F(RunnerTest, ATaskThatNeverWaitsEndsInsideStart) {
    Kept root;
    root.start(runner, []() -> Task<> { co_return; }());
    EXPECT_TRUE(root.ended);
    EXPECT_FALSE(root.alive());
}

TEST_F(RunnerTest, ARootRunsOneTaskAfterTheOther) {
    Kept root;
    root.start(runner, []() -> Task<> { co_return; }());
    root.ended = false;
    root.start(runner, []() -> Task<> { co_await sleep(1ms); }());
    EXPECT_FALSE(root.ended);
    world.advance(2ms);
    EXPECT_TRUE(root.ended);
}

TEST_F(RunnerTest, ATaskMayCancelItsOwnRoot) {
    std::string log;
    Kept root;
    root.start(runner, [](Root& self, std::string& text) -> Task<> {
        const Farewell bye(text, 'x');
        co_await sleep(1ms);
        self.cancel();
        text += '1';  // it runs on until it next waits
        co_await sleep(1ms);
        text += '2';
    }(root, log));
    world.advance(10ms);
    EXPECT_EQ(log, "1x");
    EXPECT_FALSE(root.ended);
}

TEST_F(RunnerTest, ATaskThatFailsOrIsCancelledHasNoValue) {
    class Keeping final : public Root {
      public:
        int values = 0;

      private:
        void keep_value(PromiseBase&) override { ++values; }
        void on_done(std::exception_ptr) override {}
    };
    Keeping root;
    root.start(runner, []() -> Task<> { co_return; }());
    EXPECT_EQ(root.values, 1);
    root.start(runner, []() -> Task<> {
        throw std::runtime_error("no value");
        co_return;
    }());
    root.start(runner, [](Root& self) -> Task<> {
        self.cancel();
        co_return;
    }(root));
    EXPECT_EQ(root.values, 1);
}

TEST_F(RunnerTest, ATaskMayCancelAnother) {
    std::string log;
    Kept first;
    Kept second;
    first.start(runner, [](std::string& text) -> Task<> {
        const Farewell bye(text, 'f');
        co_await sleep(1h);
    }(log));
    second.start(runner, [](Root& other, std::string& text) -> Task<> {
        co_await yield();
        other.cancel();
        text += 's';
    }(first, log));
    world.settle();
    EXPECT_EQ(log, "sf") << "no frame ends while a task runs";
    EXPECT_TRUE(second.ended);
    EXPECT_FALSE(first.alive());
}

TEST_F(RunnerTest, CancelledWhileReadyItDoesNotRun) {
    std::string log;
    Kept root;
    Semaphore gate(0);
    root.start(runner, [](Semaphore& g, std::string& text) -> Task<> {
        auto permit = co_await g.acquire();
        text += "ran";
    }(gate, log));
    Kept opener;
    opener.start(runner, [](Semaphore& g, Root& other) -> Task<> {
        co_await yield();
        g.release(1);  // granted to the root, which is cancelled before it runs
        other.cancel();
    }(gate, root));
    world.settle();
    EXPECT_EQ(log, "");
    EXPECT_EQ(gate.free(), 1u) << "its permit is back";
}

TEST_F(RunnerTest, SpawnedTasksEndOnTheirOwnOrWithTheRunner) {
    std::string log;
    {
        Runner other(world.loop());
        other.spawn([](std::string& text) -> Task<> {
            co_await sleep(1ms);
            text += 'a';
        }(log));
        other.spawn([](std::string& text) -> Task<> {
            const Farewell bye(text, 'b');
            co_await sleep(1h);
        }(log));
        other.spawn([]() -> Task<> {
            co_await yield();
            throw std::runtime_error("logged, and no more");
        }());
        EXPECT_EQ(other.spawned(), 3u);
        world.advance(5ms);
        EXPECT_EQ(other.spawned(), 1u);
        EXPECT_EQ(log, "a");
    }
    EXPECT_EQ(log, "ab");
    world.advance(2h);
}

TEST_F(RunnerTest, ARunnerMayEndWithATaskReady) {
    auto other = std::make_unique<Runner>(world.loop());
    other->spawn([]() -> Task<> {
        co_await yield();
        ADD_FAILURE() << "it ran after its runner's end";
    }());
    other.reset();
    world.settle();
}

// A task whose operations all complete at once must not keep the loop from the others.
TEST_F(RunnerTest, ATaskThatNeverHasToWaitGivesWay) {
    Semaphore always(1);
    bool stop = false;
    std::int64_t rounds = 0;
    Kept busy;
    Kept other;
    busy.start(runner, [](Semaphore& s, bool& end, std::int64_t& count) -> Task<> {
        while (!end) {
            auto permit = co_await s.acquire();
            ++count;
        }
    }(always, stop, rounds));
    other.start(runner, [](bool& end) -> Task<> {
        for (int i = 0; i < 3; ++i) co_await yield();
        end = true;
    }(stop));
    ASSERT_TRUE(world.run_until([&] { return busy.ended; }));
    EXPECT_GE(rounds, static_cast<std::int64_t>(Runner::spends_max));
}

// ---- before the turn's end ----------------------------------------------------------------------

// Lets one task through, once the test opens it.
class Gate final {
  public:
    // In the frame of the one that waits, as each Waiter.
    class Opened final {
      public:
        explicit Opened(Gate& gate) : gate_(&gate) {}
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> handle) {
            waiter_.suspend(handle);
            gate_->waiting_ = &waiter_;
        }
        void await_resume() const noexcept {}

      private:
        Gate* gate_;
        Waiter waiter_;
    };

    Opened opened() { return Opened(*this); }
    void open() { waiting_->wake(); }

  private:
    Waiter* waiting_ = nullptr;
};

Task<> log_when_open(Gate& gate, std::string& log, char letter) {
    const Farewell bye(log, letter);
    co_await gate.opened();
}

TEST_F(RunnerTest, ReadyTasksMayRunBeforeTheTurnsEndInTheirOrder) {
    std::string log;
    std::array<Gate, 3> gates;
    std::array<Kept, 3> roots;
    for (std::size_t i = 0; i < gates.size(); ++i) {
        roots[i].start(runner, log_when_open(gates[i], log, static_cast<char>('a' + i)));
    }
    EXPECT_TRUE(runner.idle());
    gates[1].open();
    gates[0].open();
    gates[1].open();  // again: it keeps its place
    EXPECT_FALSE(runner.idle());
    EXPECT_EQ(log, "");
    runner.run_ready();
    EXPECT_EQ(log, "ba");
    EXPECT_TRUE(roots[0].ended && roots[1].ended);
    EXPECT_TRUE(runner.idle());
    // The turn's end that was requested finds nothing, and the next wake requests another.
    world.settle();
    gates[2].open();
    world.settle();
    EXPECT_EQ(log, "bac");
}

// A callback resumes what it woke, and no endless chain.
TEST_F(RunnerTest, WhatTheyWakeWaitsForTheTurnsEnd) {
    std::string log;
    Gate gate;
    Kept root;
    root.start(runner, [](Gate& gate, std::string& text) -> Task<> {
        co_await gate.opened();
        text += 'a';
        co_await yield();
        text += 'b';
    }(gate, log));
    gate.open();
    runner.run_ready();
    EXPECT_EQ(log, "a");
    world.settle();
    EXPECT_EQ(log, "ab");
}

TEST_F(RunnerTest, AReadyTaskMayBeEndedByTheOneBeforeIt) {
    std::string log;
    Gate first_gate, second_gate;
    Kept first, second;
    second.start(runner, log_when_open(second_gate, log, '2'));
    first.start(runner, [](Gate& gate, Root& other, std::string& text) -> Task<> {
        co_await gate.opened();
        other.cancel();
        text += '1';
    }(first_gate, second, log));
    first_gate.open();
    second_gate.open();
    runner.run_ready();
    EXPECT_EQ(log, "12") << "its frame has ended";
    EXPECT_FALSE(second.ended);
    world.settle();
}

TEST_F(RunnerTest, ARunnerIsNotIdleInsideATaskOrTheEndOfOne) {
    class Asking final : public Root {
      public:
        explicit Asking(std::vector<bool>& answers) : answers_(&answers) {}

      private:
        void on_done(std::exception_ptr) override { answers_->push_back(context().runner->idle()); }
        std::vector<bool>* answers_;
    };
    std::vector<bool> answers;
    Asking root(answers);
    root.start(runner, [](Runner& here, std::vector<bool>& said) -> Task<> {
        said.push_back(here.idle());
        co_return;
    }(runner, answers));
    EXPECT_EQ(answers, (std::vector<bool>{false, false}));
    EXPECT_TRUE(runner.idle());
}

TEST(RunnerDeathTest, TasksDoNotRunInsideATask) {
    EXPECT_DEATH(
        {
            tiderace::testing::FakeWorld world;
            Runner runner(world.loop());
            runner.spawn([](Runner& here) -> Task<> {
                here.run_ready();
                co_return;
            }(runner));
        },
        "one after the other");
}

TEST(ContextDeathTest, AnAwaitOutsideOfATaskAborts) {
    EXPECT_DEATH((void)Context::here(), "outside of a task");
}

// Without memory each request's task fails: that must not fill the disk with lines.
TEST_F(RunnerTest, AStormOfTasksThatFailIsOneLineOfEachKind) {
    log::Doorbell bell;
    log::Ring ring(64_KiB, bell);
    struct Time final : log::TimeSource {
        std::int64_t unix_ms() override { return 1'000'000; }
    };
    Time time;
    log::Logger logger(ring, time);
    world.loop().set_log(&logger);
    for (int i = 0; i < 100; ++i) {
        runner.spawn([]() -> Task<> {
            throw std::bad_alloc();
            co_return;
        }());
        runner.spawn([]() -> Task<> {
            throw std::runtime_error("no such user");
            co_return;
        }());
    }
    world.loop().set_log(nullptr);
    const std::string lines = log::take_all(ring);
    EXPECT_NE(lines.find("bad_alloc"), lines.npos) << lines;
    EXPECT_NE(lines.find("no such user"), lines.npos) << lines;
    EXPECT_EQ(std::ranges::count(lines, '\n'), 2) << lines;
}

}  // namespace
}  // namespace tiderace::task
