#include "tiderace/db/readiness.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "tiderace/core/child_process.h"
#include "tiderace/db/database_fixture.h"

namespace tiderace::db {
namespace {

class EveryReadiness : public ::testing::TestWithParam<std::string> {};

// A pipe whose reading end another library owns.
struct Ends {
    Ends() {
        auto made = core::Pipe::open();
        pipe.emplace(std::move(*made));
    }
    void say() const { EXPECT_EQ(::write(pipe->writing.get(), "x", 1), 1); }
    void hear() const {
        char byte;
        EXPECT_EQ(::read(pipe->reading.get(), &byte, 1), 1);
    }
    int fd() const { return pipe->reading.get(); }
    std::optional<core::Pipe> pipe;
};

constexpr core::Interest readable{.readable = true};

TEST_P(EveryReadiness, AWaitEndsWithTheDescriptorOrTheDeadline) {
    run_on(GetParam(), []() -> Task<> {
        core::EventLoop& loop = task::Context::here().runner->loop();
        const Ends ends;
        Readiness readiness(loop);
        readiness.keep(ends.fd());
        EXPECT_FALSE(co_await readiness.wait(readable, loop.now() + 20ms));
        ends.say();
        EXPECT_TRUE(co_await readiness.wait(readable, loop.now() + 20s));
        ends.hear();
        EXPECT_FALSE(co_await readiness.wait(readable, loop.now() + 20ms));
    }());
}

TEST_P(EveryReadiness, WhatComesWithNobodyWaitingIsNoticedOnce) {
    run_on(GetParam(), []() -> Task<> {
        core::EventLoop& loop = task::Context::here().runner->loop();
        const Ends ends;
        Readiness readiness(loop);
        readiness.keep(ends.fd());
        EXPECT_FALSE(readiness.noticed());
        ends.say();
        while (!readiness.noticed()) co_await sleep(1ms);
        const auto turns = loop.turns();
        co_await sleep(50ms);
        EXPECT_LT(loop.turns() - turns, 20U) << "it is told in every turn";
        EXPECT_TRUE(co_await readiness.wait(readable, loop.now() + 20s));
        EXPECT_FALSE(readiness.noticed());
    }());
}

// A loop that is late looks twice in a turn. The second look comes before the task has gone on.
TEST_P(EveryReadiness, WhatWokeATaskIsNotNoticedByTheNextLook) {
    run_on(GetParam(), []() -> Task<> {
        core::EventLoop& loop = task::Context::here().runner->loop();
        const Ends ends;
        Readiness readiness(loop);
        readiness.keep(ends.fd());
        task::Scope scope;
        scope.spawn([](const Ends& other) -> Task<> {
            co_await sleep(1ms);
            other.say();
            std::this_thread::sleep_for(50ms);
        }(ends));
        scope.spawn([]() -> Task<> { co_await sleep(5ms); }());  // for which the loop is late
        EXPECT_TRUE(co_await readiness.wait(readable, loop.now() + 20s));
        ends.hear();
        EXPECT_FALSE(readiness.noticed());
        co_await scope.join();
        ends.say();
        while (!readiness.noticed()) co_await sleep(1ms);
    }());
}

TEST_P(EveryReadiness, AKeptDescriptorOutlivesTheLibrarys) {
    run_on(GetParam(), []() -> Task<> {
        core::EventLoop& loop = task::Context::here().runner->loop();
        Ends ends;
        Readiness readiness(loop);
        readiness.keep(ends.fd());
        ends.say();
        ends.pipe->reading = {};  // a library that closes it, and another file takes its number
        const Ends others;
        EXPECT_TRUE(co_await readiness.wait(readable, loop.now() + 20s));
    }());
}

TEST_P(EveryReadiness, ACancelledWaitLeavesItUsable) {
    run_on(GetParam(), []() -> Task<> {
        core::EventLoop& loop = task::Context::here().runner->loop();
        const Ends ends;
        Readiness readiness(loop);
        readiness.keep(ends.fd());
        auto wait = [](Readiness& on) -> Task<> { co_await on.wait(readable, Instant::max()); };
        EXPECT_FALSE((co_await within(5ms, wait(readiness))).has_value());
        ends.say();
        EXPECT_TRUE(co_await readiness.wait(readable, loop.now() + 20s));
    }());
}

INSTANTIATE_TEST_SUITE_P(Engines, EveryReadiness, ::testing::Values("auto", "epoll"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace tiderace::db
