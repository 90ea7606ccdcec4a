#include "tiderace/net/loop_group.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

namespace tiderace::net {
namespace {

std::unique_ptr<LoopGroup> make_group(std::size_t loops) {
    return std::move(*LoopGroup::create(loops, {}));
}

// root has no such limit.
void forbid_threads() {
    rlimit none{};
    none.rlim_cur = none.rlim_max = 1;
    ::setrlimit(RLIMIT_NPROC, &none);
    if (::getuid() == 0 && ::setuid(54'321) != 0) std::_Exit(2);
}

TEST(LoopGroup, RunsEachLoopOnAThreadOfItsOwnTheFirstOnTheCallers) {
    const auto group = make_group(3);
    ASSERT_EQ(group->size(), 3U);
    std::vector<std::thread::id> threads(3);
    std::atomic<int> ran = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        group->loop(i).post([&, i] {
            threads[i] = std::this_thread::get_id();
            EXPECT_TRUE(group->loop(i).on_loop_thread());
            if (++ran == 3) group->stop();
        });
    }
    group->run();
    EXPECT_EQ(threads[0], std::this_thread::get_id());
    EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), 3U);
}

TEST(LoopGroup, IsStoppedFromAnyThread) {
    const auto group = make_group(2);
    std::thread other([&] { group->stop(); });  // before, while or after the loops begin
    group->run();
    other.join();
}

TEST(LoopGroup, IsStoppedFromALoopAndRunsAgain) {
    const auto group = make_group(2);
    for (int round = 0; round < 3; ++round) {
        bool ran = false;
        group->loop(1).post([&] {
            ran = true;
            group->stop();
        });
        group->run();
        EXPECT_TRUE(ran);
    }
}

TEST(LoopGroup, IsStoppedThoughItsMailboxesAreFull) {
    auto group = std::move(*LoopGroup::create(2, {.mailbox_posts_max = 3}));
    int ran = 0;
    while (group->loop(1).post([&] { ++ran; })) {
    }
    group->stop();
    group->run();
    EXPECT_EQ(ran, 3) << "what was posted before the stop runs";
}

TEST(LoopGroup, ThreadsThatWereStartedAndNeverRunAreGivenUp) {
    const auto group = make_group(3);
    ASSERT_TRUE(group->start().has_value());
}

TEST(LoopGroup, WhatIsPostedBetweenStartAndRunRuns) {
    const auto group = make_group(2);
    bool ran = false;
    ASSERT_TRUE(group->start().has_value());
    group->loop(1).post([&] {
        ran = true;
        group->stop();
    });
    group->run();
    EXPECT_TRUE(ran);
}

TEST(LoopGroup, WithoutThreadsNoneIsLeftAndItIsAnError) {
    EXPECT_EXIT(
        {
            forbid_threads();
            const auto started = make_group(2)->start();
            std::_Exit(!started && started.error().code() == EAGAIN ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST(LoopGroup, LoopsPostToEachOther) {
    const auto group = make_group(2);
    int passes = 0;  // the ball is on one loop at a time
    std::function<void()> pass = [&] {
        if (++passes == 1'000) {
            group->stop();
        } else {
            group->loop(passes % 2).post([&] { pass(); });
        }
    };
    group->loop(0).post([&] { pass(); });
    group->run();
    EXPECT_EQ(passes, 1'000);
}

TEST(LoopGroup, AnUnknownEngineIsAnError) {
    const auto refused = LoopGroup::create(2, {.engine = "abacus"});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("epoll"), std::string::npos);
}

}  // namespace
}  // namespace tiderace::net
