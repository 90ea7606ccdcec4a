#include "tiderace/core/wakeup.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tiderace/core/event_loop.h"

namespace tiderace::core {
namespace {

struct Woken final : Wakeup {
    Woken(EventLoop& loop, std::function<void()> f) : Wakeup(loop), action(std::move(f)) {}
    ~Woken() override = default;
    void on_woken() override { action(); }

    std::function<void()> action;
};

std::unique_ptr<EventLoop> default_loop() {
    return std::move(*EventLoop::create({}));
}

TEST(Wakeup, EndsTheWaitAndRunsOnceForAllThatCameBefore) {
    auto loop = default_loop();
    int ran = 0;
    Woken woken(*loop, [&] { ++ran; });
    std::thread other([&] {
        for (int i = 0; i < 100; ++i) woken.wake();
    });
    other.join();
    loop->turn(Duration(-1));
    EXPECT_EQ(ran, 1);
    loop->turn(0s);
    EXPECT_EQ(ran, 1);
    woken.wake();
    loop->turn(Duration(-1));
    EXPECT_EQ(ran, 2);
}

TEST(Wakeup, IsNotRefusedWhereTheMailboxIsFull) {
    auto loop = std::move(*EventLoop::create({.mailbox_posts_max = 1}));
    int ran = 0;
    Woken woken(*loop, [&] { ++ran; });
    while (loop->post([] {})) {
    }
    woken.wake();
    loop->turn(Duration(-1));
    EXPECT_EQ(ran, 1);
}

TEST(Wakeup, OneThatWakesItselfRunsOnceATurn) {
    auto loop = default_loop();
    int ran = 0;
    Woken* self = nullptr;
    Woken woken(*loop, [&] {
        ++ran;
        self->wake();
    });
    self = &woken;
    woken.wake();
    for (int turn = 1; turn <= 5; ++turn) {
        loop->turn(Duration(-1));
        EXPECT_EQ(ran, turn);
    }
}

TEST(Wakeup, MayEndItselfAndOthersThatWait) {
    auto loop = default_loop();
    std::vector<std::unique_ptr<Woken>> all;
    int ran = 0;
    for (int i = 0; i < 3; ++i) {
        all.push_back(std::make_unique<Woken>(*loop, [&] {
            ++ran;
            all.clear();
        }));
    }
    for (const auto& each : all) each->wake();
    loop->turn(Duration(-1));
    EXPECT_EQ(ran, 1);
    loop->turn(0s);
}

TEST(Wakeup, DoesNothingAfterTheLoopsEnd) {
    auto loop = default_loop();
    int ran = 0;
    Woken waiting(*loop, [&] { ++ran; });
    Woken idle(*loop, [&] { ++ran; });
    waiting.wake();
    loop.reset();
    waiting.wake();
    idle.wake();
    EXPECT_EQ(ran, 0);
}

// The loop was woken for it, and looked in vain: the next needs a call of its own.
TEST(Wakeup, OneThatEndsBeforeItRunsTakesNoWakeFromTheNext) {
    auto loop = default_loop();
    {
        Woken gone(*loop, [] { ADD_FAILURE() << "it has ended"; });
        gone.wake();
    }
    loop->turn(0s);
    int ran = 0;
    Woken woken(*loop, [&] { ++ran; });
    woken.wake();
    loop->turn(Duration(-1));
    EXPECT_EQ(ran, 1);
}

// Each value that was written before a wake() is seen: none is lost between a thread that wakes and
// a loop that is just looking.
TEST(Wakeup, LosesNothingBetweenManyThreadsAndTheLoop) {
    auto loop = default_loop();
    constexpr int threads = 4;
    constexpr std::uint64_t times = 20'000;
    std::atomic<std::uint64_t> said = 0;
    std::uint64_t seen = 0;
    Woken woken(*loop, [&] {
        seen = said.load(std::memory_order_relaxed);
        if (seen == threads * times) loop->stop();
    });
    std::vector<std::thread> others;
    for (int i = 0; i < threads; ++i) {
        others.emplace_back([&] {
            for (std::uint64_t n = 0; n < times; ++n) {
                said.fetch_add(1, std::memory_order_relaxed);
                woken.wake();
            }
        });
    }
    loop->run();
    for (std::thread& other : others) other.join();
    EXPECT_EQ(seen, threads * times);
}

TEST(Wakeup, OneThatThrowsHoldsUpNoOther) {
    auto loop = default_loop();
    int ran = 0;
    Woken throws(*loop, [] { throw std::runtime_error("woken"); });
    Woken woken(*loop, [&] { ++ran; });
    throws.wake();
    woken.wake();
    EXPECT_NO_THROW(loop->turn(Duration(-1)));
    EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace tiderace::core
