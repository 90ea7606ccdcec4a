#include "tiderace/core/event_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tiderace/core/watch.h"
#include "tiderace/testing/engine.h"
#include "tiderace/testing/manual_clock.h"

namespace tiderace::core {
namespace {

struct TestTimer : Timer {
    explicit TestTimer(std::function<void()> f) : action(std::move(f)) {}
    void on_expired() override { action(); }
    std::function<void()> action;
};

struct TestTurnEnd : TurnEnd {
    explicit TestTurnEnd(std::function<void()> f) : action(std::move(f)) {}
    void on_turn_end() override { action(); }
    std::function<void()> action;
};

std::unique_ptr<EventLoop> make_loop(const Clock* clock = nullptr) {
    return std::move(*EventLoop::create({.clock = clock}));
}

TEST(EventLoop, RunsPostsOfOtherThreadsInOrderUntilItIsStopped) {
    auto loop = make_loop();
    std::vector<int> ran;
    std::thread other([&] {
        for (int i = 0; i < 100; ++i) loop->post([&, i] { ran.push_back(i); });
        loop->post([&] { loop->stop(); });
    });
    loop->run();
    other.join();
    ASSERT_EQ(ran.size(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

TEST(EventLoop, ARequestToStopIsNeverRefusedAndWhatWasPostedBeforeItRuns) {
    auto loop = std::move(*EventLoop::create({.mailbox_posts_max = 2}));
    int ran = 0;
    std::thread other([&] {
        while (loop->post([&] { ++ran; })) {
        }
        loop->request_stop();
    });
    other.join();
    loop->run();
    EXPECT_EQ(ran, 2);
    // One request ends one run.
    loop->post([&] { loop->request_stop(); });
    loop->run();
    EXPECT_EQ(ran, 2);
}

// Notes its first input in `order` as 'i'.
struct OrderedInput final : Watch::Receiver {
    OrderedInput(EventLoop& l, std::string& o) : watch(l, *this), order(&o) {}
    void on_ready(Watch&, Interest) override {
        *order += 'i';
        watch.release();
    }
    Watch watch;
    std::string* order;
};

// Input that has arrived was in time, however late the loop reads it: after a stop of the process.
TEST(EventLoop, InputThatHasArrivedIsDispatchedBeforeDeadlinesExpire) {
    for (const std::string& engine : testing::engine_names()) {
        testing::ManualClock clock;
        auto loop = std::make_unique<EventLoop>(std::move(*testing::make_engine(engine, {})),
                                                LoopOptions{.clock = &clock});
        // More than one wait of any engine tells.
        constexpr int count = 300;
        std::string order;
        std::vector<std::unique_ptr<OrderedInput>> readers;
        std::vector<int> descriptors;
        for (int i = 0; i < count; ++i) {
            int ends[2];
            ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
            descriptors.insert(descriptors.end(), {ends[0], ends[1]});
            readers.push_back(std::make_unique<OrderedInput>(*loop, order));
            ASSERT_TRUE(readers.back()->watch.watch(ends[0], {.readable = true}));
        }
        TestTimer timer([&] { order += 't'; });
        loop->turn(0s);
        loop->arm(timer, loop->now() + 10s);
        for (int i = 0; i < count; ++i) {
            ASSERT_EQ(::write(descriptors[static_cast<std::size_t>(2 * i + 1)], "x", 1), 1);
        }
        clock.advance(30s);
        for (int i = 0; i < 100 && order.size() <= count; ++i) loop->turn(0s);
        EXPECT_EQ(order, std::string(count, 'i') + 't') << engine;
        readers.clear();
        loop.reset();
        for (const int fd : descriptors) ::close(fd);
    }
}

// A signal interrupts the wait, as SIGSTOP does, and input arrives before the call returns.
int interrupted_writes_to = -1;
testing::ManualClock* interrupted_clock = nullptr;
void arrive_late(int) {
    interrupted_clock->advance(30s);
    if (::write(interrupted_writes_to, "x", 1) != 1) std::abort();
}

TEST(EventLoop, InputThatArrivedWhileAWaitWasInterruptedIsDispatchedBeforeDeadlinesExpire) {
    struct sigaction action{};
    struct sigaction before{};
    action.sa_handler = arrive_late;
    ASSERT_EQ(::sigaction(SIGUSR2, &action, &before), 0);
    for (const std::string& engine : testing::engine_names()) {
        if (testing::is_stand_in(engine)) continue;
        testing::ManualClock clock;
        auto loop = std::make_unique<EventLoop>(std::move(*testing::make_engine(engine, {})),
                                                LoopOptions{.clock = &clock});
        int ends[2];
        ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
        interrupted_writes_to = ends[1];
        interrupted_clock = &clock;
        std::string order;
        OrderedInput reader(*loop, order);
        ASSERT_TRUE(reader.watch.watch(ends[0], {.readable = true}));
        loop->turn(0s);
        TestTimer timer([&] { order += 't'; });
        loop->arm(timer, loop->now() + 10s);
        // Until the wait is in the kernel: it sleeps there.
        std::thread other([thread = ::pthread_self(), number = ::syscall(SYS_gettid)] {
            const std::string path = "/proc/self/task/" + std::to_string(number) + "/stat";
            char state = 'R';
            while (state != 'S') {
                std::ifstream stat(path);
                std::string word;
                stat >> word >> word >> state;
            }
            ::pthread_kill(thread, SIGUSR2);
        });
        for (int i = 0; i < 100 && order.size() < 2; ++i) loop->turn(5s);
        other.join();
        EXPECT_EQ(order, "it") << engine;
        for (const int fd : ends) ::close(fd);
    }
    ::sigaction(SIGUSR2, &before, nullptr);
}

// A kernel that has more to tell in each turn, or nothing, and notes how long it was let wait.
struct ToldToWait final : Backend {
    std::string_view name() const override { return "told to wait"; }
    Result<IoHandle> attach(int, IoObserver&) override { return IoHandle{}; }
    void detach(IoHandle&) override {}
    void close(IoHandle&, SendQueue&&) override {}
    void set_accepting(IoHandle, bool) override {}
    void start_connect(IoHandle, const Address&) override {}
    void set_receiving(IoHandle, bool) override {}
    Sent send(IoHandle, SendQueue&) override { return {}; }
    void shut_down_sending(IoHandle) override {}
    int watch(IoHandle, bool, bool) override { return 0; }
    void wait(Duration wait_max) override {
        waits.push_back(wait_max);
        if (on_wait) on_wait();
    }
    void dispatch() override {
        if (on_dispatch) std::exchange(on_dispatch, nullptr)();
    }
    bool has_more() const override { return more; }
    bool left_bytes() const override { return left; }
    void wake() override {}

    std::vector<Duration> waits;
    std::function<void()> on_wait;
    std::function<void()> on_dispatch;  // an event; reported once
    bool more = false;
    bool left = false;
};

// A process may be stopped, or its machine, between the kernel's report and the loop's look at the
// clock: the report is older than the time, and lacks what arrived meanwhile.
TEST(EventLoop, ALateLoopLooksAgainBeforeItsTimers) {
    testing::ManualClock clock;
    auto backend = std::make_unique<ToldToWait>();
    ToldToWait& kernel = *backend;
    EventLoop loop(std::move(backend), LoopOptions{.clock = &clock});
    std::string order;
    TestTimer timer([&] { order += 't'; });
    TestTimer later([&] { order += 'l'; });
    loop.turn(0s);
    loop.arm(timer, loop.now() + 50ms);
    loop.arm(later, loop.now() + 1500ms);
    kernel.waits.clear();
    // The first wait reports one event, and then the process is stopped; meanwhile input arrives
    // that the second one reports. Before that ends, it is stopped again.
    kernel.on_wait = [&] {
        if (kernel.waits.size() == 1) {
            kernel.on_dispatch = [&] { order += '1'; };
            clock.advance(1s);
        } else {
            kernel.on_dispatch = [&] {
                order += '2';
                loop.cancel(timer);
            };
            clock.advance(1s);
            kernel.on_wait = nullptr;
        }
    };
    loop.turn(Duration(-1));
    EXPECT_EQ(order, "12");
    EXPECT_EQ(kernel.waits, (std::vector<Duration>{50ms, 0s}));
    // Timers that fell due during the second stop also wait until the loop has polled.
    kernel.on_dispatch = [&] { order += '3'; };
    loop.turn(Duration(-1));
    EXPECT_EQ(order, "123l");
}

// The step of a TLS handshake, or bytes that a session left unread: their bytes have arrived.
TEST(EventLoop, ALateLoopDoesWhatInputDeferredBeforeItsTimers) {
    testing::ManualClock clock;
    auto backend = std::make_unique<ToldToWait>();
    ToldToWait& kernel = *backend;
    EventLoop loop(std::move(backend), LoopOptions{.clock = &clock});
    std::string order;
    TestTimer timer([&] { order += 't'; });
    TestTurnEnd later([&] {
        order += 'e';
        loop.cancel(timer);
    });
    loop.turn(0s);
    loop.arm(timer, loop.now() + 50ms);
    kernel.on_dispatch = [&] { loop.at_turn_end(later); };
    clock.advance(1s);
    loop.turn(Duration(-1));
    EXPECT_EQ(order, "e");
}

TEST(EventLoop, ALoopThatIsInTimeLooksOnce) {
    testing::ManualClock clock;
    auto backend = std::make_unique<ToldToWait>();
    ToldToWait& kernel = *backend;
    EventLoop loop(std::move(backend), LoopOptions{.clock = &clock});
    int fired = 0;
    TestTimer timer([&] { ++fired; });
    loop.turn(0s);
    loop.arm(timer, loop.now() + 50ms);
    kernel.waits.clear();
    kernel.on_wait = [&] { clock.advance(10ms); };
    for (int i = 0; i < 4; ++i) loop.turn(Duration(-1));
    EXPECT_EQ(fired, 0);
    kernel.on_wait = [&] { clock.advance(10ms + EventLoop::late_min - 1ms); };
    loop.turn(Duration(-1));
    EXPECT_EQ(fired, 1);
    EXPECT_EQ(kernel.waits.size(), 5U);
    kernel.on_wait = nullptr;
    loop.arm(timer, loop.now() + 10ms);
    clock.advance(10ms + EventLoop::late_min);  // from here on it is late
    loop.turn(Duration(-1));
    EXPECT_EQ(fired, 2);
    EXPECT_EQ(kernel.waits.size(), 7U);
}

class LoadThatNeverEnds : public ::testing::TestWithParam<bool ToldToWait::*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, LoadThatNeverEnds,
                         ::testing::Values(&ToldToWait::more, &ToldToWait::left));

TEST_P(LoadThatNeverEnds, MakesTimersASecondLateAtMost) {
    testing::ManualClock clock;
    auto backend = std::make_unique<ToldToWait>();
    (*backend).*GetParam() = true;
    EventLoop loop(std::move(backend), LoopOptions{.clock = &clock});
    int fired = 0;
    TestTimer timer([&] { ++fired; });
    loop.turn(0s);
    loop.arm(timer, loop.now() + 10ms);
    for (int i = 0; i < 9; ++i) {
        clock.advance(100ms);
        loop.turn(0s);
    }
    EXPECT_EQ(fired, 0);
    clock.advance(200ms);
    loop.turn(0s);
    EXPECT_EQ(fired, 1);
    // And again a second, from the next turn on.
    loop.arm(timer, loop.now() + 10ms);
    clock.advance(900ms);
    loop.turn(0s);
    clock.advance(900ms);
    loop.turn(0s);
    EXPECT_EQ(fired, 1);
    clock.advance(200ms);
    loop.turn(0s);
    EXPECT_EQ(fired, 2);
}

TEST(EventLoop, TimersWaitForInputToTheirBoundAndFromTheLastTurnThatLeftNone) {
    testing::ManualClock clock;
    auto backend = std::make_unique<ToldToWait>();
    bool& more = backend->more;
    EventLoop loop(std::move(backend), LoopOptions{.clock = &clock});
    int fired = 0;
    TestTimer timer([&] { ++fired; });
    const auto turn_after = [&](Duration time, bool leaves_some) {
        more = leaves_some;
        clock.advance(time);
        loop.turn(0s);
        return fired;
    };
    turn_after(0s, true);
    turn_after(500ms, false);  // all was dispatched: nothing waits since before
    loop.arm(timer, loop.now() + 10ms);
    EXPECT_EQ(turn_after(100ms, true), 0);
    EXPECT_EQ(turn_after(999ms, true), 0);
    EXPECT_EQ(turn_after(1ms, true), 1);
}

TEST(EventLoop, TheCalendarIsReadWhenItsSecondIsOver) {
    testing::ManualClock clock;
    auto loop = make_loop(&clock);
    const std::int64_t began_ns = clock.unix_now_ns();
    const auto seconds = [&] { return clock.unix_now_ns() / 1'000'000'000; };
    // To 0.7 s in a second, wherever this clock began.
    clock.advance(Duration(1'700'000'000 - began_ns % 1'000'000'000));
    for (const Duration step : {Duration(200ms), Duration(99ms), Duration(1ms), Duration(999ms),
                                Duration(1ms), Duration(3'500ms), Duration(500ms)}) {
        clock.advance(step);
        loop->turn(0s);
        EXPECT_EQ(loop->unix_now(), seconds());
    }
}

// Reading it in every turn would cost each of them.
TEST(EventLoop, TheCalendarIsReadOnceASecond) {
    struct Counting final : Clock {
        Instant now() const override { return hands.now(); }
        std::int64_t unix_now_ns() const override {
            ++readings;
            return hands.unix_now_ns();
        }
        testing::ManualClock hands;
        mutable int readings = 0;
    } clock;
    auto loop = make_loop(&clock);
    clock.hands.advance(1s);
    loop->turn(0s);
    clock.readings = 0;
    for (int i = 0; i < 100; ++i) {
        clock.hands.advance(100ms);
        loop->turn(0s);
    }
    EXPECT_EQ(clock.readings, 10);
}

TEST(EventLoop, AWaitIsNoLongerThanAsked) {
    testing::ManualClock clock;
    auto backend = std::make_unique<ToldToWait>();
    const std::vector<Duration>& waits = backend->waits;
    EventLoop loop(std::move(backend), LoopOptions{.clock = &clock});
    loop.turn(Duration(-1));
    TestTimer timer([] {});
    loop.arm(timer, loop.now() + 20ms);
    loop.turn(1ms);
    loop.turn(1h);
    loop.turn(Duration(-1));
    EXPECT_EQ(waits, (std::vector<Duration>{Duration(-1), 1ms, 20ms, 20ms}));
}

TEST(EventLoop, RunsAgainAfterItWasStopped) {
    auto loop = make_loop();
    for (int round = 1; round <= 3; ++round) {
        int turns = 0;
        TestTimer timer([&] {
            if (++turns == 3) round == 2 ? loop->stop() : loop->request_stop();
            if (turns < 3) loop->arm(timer, loop->now());
        });
        loop->arm(timer, loop->now());
        loop->run();
        EXPECT_EQ(turns, 3) << "run " << round;
        EXPECT_FALSE(loop->stopping());
    }
}

TEST(EventLoop, TimersFireUnderATestsClock) {
    testing::ManualClock clock;
    auto loop = make_loop(&clock);
    int fired = 0;
    TestTimer timer([&] { ++fired; });
    loop->turn(0s);
    loop->arm(timer, loop->now() + 10s);
    clock.advance(9s);
    loop->turn(0s);
    EXPECT_EQ(fired, 0);
    clock.advance(1s);
    loop->turn(0s);
    EXPECT_EQ(fired, 1);
    loop->turn(0s);
    EXPECT_EQ(fired, 1);
}

TEST(EventLoop, ReadsTheCalendarWhenASecondEnds) {
    testing::ManualClock clock;
    auto loop = make_loop(&clock);
    const UnixSeconds before = loop->unix_now();
    clock.advance(3s);
    loop->turn(0s);
    EXPECT_EQ(loop->unix_now(), before + 3);
}

TEST(EventLoop, WorkAtTheEndOfATurnRunsOnceInThatTurn) {
    auto loop = make_loop();
    int ran = 0;
    TestTurnEnd work([&] { ++ran; });
    loop->post([&] {
        loop->at_turn_end(work);
        loop->at_turn_end(work);
        EXPECT_EQ(ran, 0);
    });
    loop->turn(0s);
    EXPECT_EQ(ran, 1);
    loop->turn(0s);
    EXPECT_EQ(ran, 1);
}

TEST(EventLoop, WorkThatRequeuesItselfDoesNotHoldTheTurn) {
    auto loop = make_loop();
    int ran = 0;
    TestTurnEnd* self = nullptr;
    TestTurnEnd work([&] {
        ++ran;
        if (ran < 1000) loop->at_turn_end(*self);
    });
    self = &work;
    loop->at_turn_end(work);
    loop->turn(Duration(-1));
    EXPECT_LT(ran, 1000);
    while (ran < 1000) loop->turn(Duration(-1));  // never waits while there is work
}

// Every pair of one that withdraws and one that is withdrawn, among three.
TEST(EventLoop, WorkAtTheEndOfATurnMayWithdrawOther) {
    for (int by = 0; by < 3; ++by) {
        for (int other = 0; other < 3; ++other) {
            auto loop = make_loop();
            loop->assert_on_loop();
            std::array<TestTurnEnd*, 3> all{};
            std::array<int, 3> ran{};
            const auto act = [&](int i) {
                ++ran[static_cast<std::size_t>(i)];
                if (i == by) loop->forget_turn_end(*all[static_cast<std::size_t>(other)]);
            };
            TestTurnEnd a([&] { act(0); });
            TestTurnEnd b([&] { act(1); });
            TestTurnEnd c([&] { act(2); });
            all = {&a, &b, &c};
            for (TestTurnEnd* work : all) loop->at_turn_end(*work);
            loop->turn(Duration::zero());
            // The last requested runs first, and what has run cannot be withdrawn.
            std::array<int, 3> expected{1, 1, 1};
            if (other < by) expected[static_cast<std::size_t>(other)] = 0;
            EXPECT_EQ(ran, expected) << by << " withdraws " << other;
            loop->turn(Duration::zero());
            EXPECT_EQ(ran, expected) << by << " withdraws " << other << ", the turn after";
        }
    }
}

TEST(EventLoop, WhatThrowsAtTheEndOfATurnEndsNothingElse) {
    auto loop = make_loop();
    int ran = 0;
    TestTurnEnd first([&] { ++ran; });
    TestTurnEnd failing([] { throw std::bad_alloc(); });
    TestTurnEnd last([&] { ++ran; });
    loop->every_turn_end([&] {
        ++ran;
        throw std::bad_alloc();
    });
    loop->assert_on_loop();
    for (TestTurnEnd* work : {&first, &failing, &last}) loop->at_turn_end(*work);
    loop->turn(Duration::zero());
    EXPECT_EQ(ran, 3);
    loop->turn(Duration::zero());
    EXPECT_EQ(ran, 4);
}

// Unsent bytes pass their limit when there is much of everything, and memory may also be short.
TEST(EventLoop, WithoutMemoryForEvictionItIsTriedAgain) {
    testing::ManualClock clock;
    const auto loop =
        std::move(*EventLoop::create({.clock = &clock, .send_bytes_max = BlockPool::block_bytes}));
    struct Holder final : SendHolder {
        std::vector<Holding> holdings() override {
            if (++asked == 1) throw std::bad_alloc();
            return {{.held = queue.held(), .id = 1}};
        }
        void give_up(std::uint64_t) override { queue.clear(); }
        SendQueue queue;
        int asked = 0;
    } holder;
    loop->send_eviction().add(holder);
    holder.queue.append(loop->blocks(), std::string(3 * BlockPool::block_bytes, 'x'));
    EXPECT_NO_THROW(loop->turn(0s));
    EXPECT_EQ(holder.asked, 1);
    clock.advance(100ms);
    loop->turn(0s);
    EXPECT_TRUE(holder.queue.empty());
}

TEST(EventLoop, WorkOfEveryTurnsEndRunsInItsOrderAndReplacesNone) {
    auto loop = make_loop();
    std::string ran;
    loop->every_turn_end([&] {
        ran += 'a';
        throw std::bad_alloc();
    });
    loop->every_turn_end([&] { ran += 'b'; });
    loop->turn(Duration::zero());
    EXPECT_EQ(ran, "ab");
    loop->turn(Duration::zero());
    EXPECT_EQ(ran, "abab");
}

TEST(EventLoop, ATimerThatThrowsHoldsUpNoOther) {
    testing::ManualClock clock;
    auto loop = make_loop(&clock);
    std::string fired;
    TestTimer first([&] { fired += '1'; });
    TestTimer failing([&] {
        fired += '2';
        throw std::bad_alloc();
    });
    TestTimer same([&] { fired += '3'; });
    TestTimer later([&] { fired += '4'; });
    loop->assert_on_loop();
    for (TestTimer* timer : {&first, &failing, &same}) loop->arm(*timer, clock.now() + 10ms);
    loop->arm(later, clock.now() + 20ms);
    clock.advance(15ms);
    loop->turn(Duration::zero());
    EXPECT_EQ(fired, "123");
    EXPECT_FALSE(failing.armed());
    clock.advance(15ms);
    loop->turn(Duration::zero());
    EXPECT_EQ(fired, "1234");
}

TEST(EventLoop, ATaskPostedByATaskRunsInALaterTurn) {
    auto loop = make_loop();
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    loop->post([&] {
        first = loop->turns();
        loop->post([&] { second = loop->turns(); });
    });
    while (second == 0) loop->turn(Duration(-1));
    EXPECT_GT(second, first);
}

TEST(EventLoop, AForeignLoopLearnsTheWaitAndTheEnd) {
    auto loop = make_loop();
    EXPECT_LT(loop->wait_wanted(), Duration::zero()) << "for ever";
    TestTurnEnd work([] {});
    loop->at_turn_end(work);
    EXPECT_EQ(loop->wait_wanted(), Duration::zero());
    loop->turn(0s);
    EXPECT_LT(loop->wait_wanted(), Duration::zero());
    EXPECT_FALSE(loop->stopping());
    loop->request_stop();
    EXPECT_FALSE(loop->stopping()) << "not before the turn that sees it";
    loop->turn(0s);
    EXPECT_TRUE(loop->stopping());
    EXPECT_EQ(loop->wait_wanted(), Duration::zero());
}

TEST(EventLoopDeathTest, AWrongThreadsCallAborts) {
    auto loop = make_loop();
    EXPECT_DEATH(
        {
            loop->post([&] { std::thread([&] { loop->stop(); }).join(); });
            loop->turn(0s);
        },
        "wrong thread");
}

}  // namespace
}  // namespace tiderace::core
