#include "tiderace/core/timer_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/random.h"
#include "tiderace/base/unique_function.h"

namespace tiderace::core {
namespace {

// Counts its expiries and does what the test says.
class Alarm final : public Timer {
  public:
    explicit Alarm(unique_function<void()> then = [] {}) : then_(std::move(then)) {}
    void set(unique_function<void()> then) { then_ = std::move(then); }

    int rings = 0;

  private:
    void on_expired() override {
        ++rings;
        then_();
    }
    unique_function<void()> then_;
};

class TimerWheelTest : public ::testing::Test {
  protected:
    // Neither zero nor at a whole millisecond.
    const Instant start = Instant(12'345'678'901ns);
    TimerWheel wheel{start};

    // An idle loop: sleeps until next_wake() and nothing else, up to `end`. Returns the wakes.
    int idle_until(Instant end) {
        int wakes = 0;
        for (;;) {
            const auto wake = wheel.next_wake();
            if (!wake || *wake > end) break;
            wheel.advance(*wake);
            ++wakes;
        }
        wheel.advance(end);
        return wakes;
    }
};

TEST_F(TimerWheelTest, AnEmptyOneHasNothingToDo) {
    EXPECT_EQ(wheel.next_wake(), std::nullopt);
    EXPECT_EQ(wheel.advance(start + 1h), 0U);
    EXPECT_EQ(wheel.armed_count(), 0U);
}

TEST_F(TimerWheelTest, NeverFiresEarlyAndAtMostATickLate) {
    const Duration delays[] = {1ns,   999'999ns, 1ms,    1'000'001ns, 63ms,    64ms, 65ms,
                               100ms, 4'095ms,   4096ms, 60s,         1h,      24h,  24h * 365,
                               5ms,   127ms,     128ms,  262'144ms,   65'536s, 31s,  24h * 36'500};
    for (const Duration offset : {Duration(0ns), Duration(1ns), Duration(63'999'999ns)}) {
        for (const Duration delay : delays) {
            TimerWheel fresh(start);
            fresh.advance(start + offset);
            Alarm alarm;
            const Instant when = start + offset + delay;
            fresh.arm(alarm, when);
            fresh.advance(when - 1ns);
            EXPECT_EQ(alarm.rings, 0) << delay.count() << " ns after " << offset.count();
            fresh.advance(when + 1ms);
            EXPECT_EQ(alarm.rings, 1) << delay.count() << " ns after " << offset.count();
        }
    }
}

TEST_F(TimerWheelTest, FiresAtItsOwnTickWhenTimeCreepsUpToIt) {
    for (const Duration delay : {1ms, 64ms, 4'096ms, 5'000ms, 9'999ms}) {
        TimerWheel fresh(start);
        Alarm alarm;
        fresh.arm(alarm, start + delay);
        for (Duration passed = 0ms; passed < delay; passed += 1ms) {
            fresh.advance(start + passed);
            ASSERT_EQ(alarm.rings, 0) << passed.count() << " of " << delay.count();
        }
        fresh.advance(start + delay);
        EXPECT_EQ(alarm.rings, 1);
    }
}

TEST_F(TimerWheelTest, AnIdleLoopWithOneMinuteTimerWakesAHandfulOfTimes) {
    Alarm alarm;
    wheel.arm(alarm, start + 60s);
    EXPECT_LE(idle_until(start + 61s), 4);
    EXPECT_EQ(alarm.rings, 1);
    EXPECT_EQ(wheel.next_wake(), std::nullopt);
}

TEST_F(TimerWheelTest, WakesAreNeverAfterTheDeadlinesTick) {
    Alarm near, far;
    wheel.arm(far, start + 1h);
    wheel.arm(near, start + 10ms);
    EXPECT_EQ(wheel.next_wake(), start + 10ms);
    wheel.cancel(near);
    ASSERT_TRUE(wheel.next_wake().has_value());
    EXPECT_GT(*wheel.next_wake(), start + 10min);
    EXPECT_LE(*wheel.next_wake(), start + 1h);
}

TEST_F(TimerWheelTest, ATimerSaysWhenItIsDue) {
    Alarm alarm;
    for (const Duration delay : {Duration(1ns), Duration(1ms), Duration(63'500us), Duration(24h)}) {
        wheel.arm(alarm, start + delay);
        EXPECT_GE(alarm.due(), start + delay);
        EXPECT_LT(alarm.due() - (start + delay), 1ms);
    }
    wheel.arm(alarm, Instant::max());
    EXPECT_EQ(alarm.due(), Instant::max());
}

TEST_F(TimerWheelTest, TwoInTheSameMillisecondFireInTheOrderOfArming) {
    std::string order;
    Alarm first([&] { order += '1'; }), second([&] { order += '2'; }), third([&] { order += '3'; });
    wheel.arm(first, start + 5'000ms - 1ns);  // same tick, seen from three distances
    wheel.advance(start + 4'950ms);
    wheel.arm(second, start + 5'000ms - 500us);
    wheel.advance(start + 4'999ms);
    wheel.arm(third, start + 5'000ms - 999us);
    EXPECT_EQ(wheel.advance(start + 5'000ms), 3U);
    EXPECT_EQ(order, "123");
}

TEST_F(TimerWheelTest, CancelledOnesDoNotFire) {
    Alarm kept, dropped;
    wheel.arm(kept, start + 5ms);
    wheel.arm(dropped, start + 5ms);
    wheel.cancel(dropped);
    wheel.cancel(dropped);
    EXPECT_FALSE(dropped.armed());
    EXPECT_EQ(wheel.armed_count(), 1U);
    wheel.advance(start + 1s);
    EXPECT_EQ(kept.rings, 1);
    EXPECT_EQ(dropped.rings, 0);
}

TEST_F(TimerWheelTest, ADestroyedTimerIsCancelled) {
    {
        Alarm soon, later;
        wheel.arm(soon, start + 5ms);
        wheel.arm(later, start + 5h);
    }
    EXPECT_EQ(wheel.armed_count(), 0U);
    EXPECT_EQ(wheel.next_wake(), std::nullopt);
    EXPECT_EQ(wheel.advance(start + 6h), 0U);
}

TEST_F(TimerWheelTest, AWheelThatEndsFirstDisarmsItsTimers) {
    Alarm overdue, soon, far;
    {
        TimerWheel brief(start);
        brief.arm(overdue, start);
        brief.arm(soon, start + 1ms);
        brief.arm(far, Instant::max());
    }
    EXPECT_FALSE(overdue.armed());
    EXPECT_FALSE(soon.armed());
    EXPECT_FALSE(far.armed());
    wheel.arm(far, start + 1ms);  // and may be used again
    wheel.advance(start + 1ms);
    EXPECT_EQ(far.rings, 1);
}

TEST_F(TimerWheelTest, ARefreshMovesTheDeadlineEitherWay) {
    Alarm alarm;
    wheel.arm(alarm, start + 10ms);
    wheel.arm(alarm, start + 30s);
    wheel.advance(start + 20ms);
    EXPECT_EQ(alarm.rings, 0);
    wheel.arm(alarm, start + 25ms);
    EXPECT_EQ(wheel.armed_count(), 1U);
    wheel.advance(start + 25ms);
    EXPECT_EQ(alarm.rings, 1);
    wheel.advance(start + 1min);
    EXPECT_EQ(alarm.rings, 1);
}

TEST_F(TimerWheelTest, RefreshAfterExpiryArmsAnew) {
    Alarm alarm;
    wheel.arm(alarm, start + 10ms);
    wheel.advance(start + 10ms);
    EXPECT_FALSE(alarm.armed());
    wheel.arm(alarm, start + 20ms);
    EXPECT_TRUE(alarm.armed());
    wheel.advance(start + 19ms);
    EXPECT_EQ(alarm.rings, 1);
    wheel.advance(start + 20ms);
    EXPECT_EQ(alarm.rings, 2);
}

TEST_F(TimerWheelTest, ADeadlineInThePastFiresInTheNextAdvanceAndNotInArm) {
    wheel.advance(start + 1s);
    Alarm past, present;
    wheel.arm(past, Instant::min());
    wheel.arm(present, start + 1s);
    EXPECT_EQ(past.rings + present.rings, 0);
    EXPECT_EQ(wheel.next_wake(), start + 1s);
    EXPECT_EQ(wheel.advance(start + 1s), 2U);
    EXPECT_EQ(wheel.next_wake(), std::nullopt);
}

TEST_F(TimerWheelTest, APastDeadlineCanBeCancelledAndRefreshed) {
    Alarm cancelled, refreshed;
    wheel.arm(cancelled, start);
    wheel.arm(refreshed, start);
    wheel.cancel(cancelled);
    wheel.arm(refreshed, start + 1s);
    EXPECT_EQ(wheel.advance(start + 999ms), 0U);
    EXPECT_EQ(wheel.advance(start + 1s), 1U);
}

TEST_F(TimerWheelTest, ArmingForNowInACallbackFiresInTheNextAdvance) {
    Alarm alarm;
    alarm.set([&] { wheel.arm(alarm, start + 10ms); });
    wheel.arm(alarm, start + 10ms);
    for (int turn = 1; turn <= 5; ++turn) {
        EXPECT_EQ(wheel.advance(start + 10ms), 1U);
        EXPECT_EQ(alarm.rings, turn);
        EXPECT_EQ(wheel.next_wake(), start + 10ms);
    }
}

TEST_F(TimerWheelTest, ACallbackMayCancelOthersDueInTheSameAdvance) {
    Alarm sooner, same, later, beyond;
    Alarm canceller([&] {
        wheel.cancel(same);
        wheel.cancel(later);
        wheel.cancel(beyond);
    });
    wheel.arm(sooner, start + 9ms);
    wheel.arm(canceller, start + 10ms);
    wheel.arm(same, start + 10ms);
    wheel.arm(later, start + 11ms);
    wheel.arm(beyond, start + 1h);
    EXPECT_EQ(wheel.advance(start + 1s), 2U);
    EXPECT_EQ(sooner.rings, 1);
    EXPECT_EQ(same.rings + later.rings, 0);
    EXPECT_EQ(wheel.armed_count(), 0U);
}

TEST_F(TimerWheelTest, ACallbackMayRefreshOthersDueInTheSameAdvance) {
    Alarm other;
    Alarm refresher([&] { wheel.arm(other, start + 2s); });
    wheel.arm(refresher, start + 10ms);
    wheel.arm(other, start + 11ms);
    EXPECT_EQ(wheel.advance(start + 1s), 1U);
    EXPECT_EQ(other.rings, 0);
    EXPECT_EQ(wheel.advance(start + 2s), 1U);
    EXPECT_EQ(other.rings, 1);
}

TEST_F(TimerWheelTest, ACallbackMayCancelItselfWhichChangesNothing) {
    Alarm alarm;
    alarm.set([&] { wheel.cancel(alarm); });
    wheel.arm(alarm, start + 10ms);
    EXPECT_EQ(wheel.advance(start + 10ms), 1U);
    EXPECT_EQ(wheel.armed_count(), 0U);
}

TEST_F(TimerWheelTest, ACallbackMayDestroyOthersAndItself) {
    auto next = std::make_unique<Alarm>();
    auto far = std::make_unique<Alarm>();
    auto* self = new Alarm;
    self->set([&next, &far, self] {
        auto* doomed = self;  // the captures die with the timer
        next.reset();
        far.reset();
        delete doomed;
    });
    wheel.arm(*self, start + 10ms);
    wheel.arm(*next, start + 10ms);
    wheel.arm(*far, start + 1h);
    EXPECT_EQ(wheel.advance(start + 10ms), 1U);
    EXPECT_EQ(next, nullptr);
    EXPECT_EQ(wheel.armed_count(), 0U);
}

TEST_F(TimerWheelTest, AJumpOfYearsFiresEverythingInOrderOfDeadline) {
    std::vector<Duration> order;
    std::deque<Alarm> alarms;
    for (const Duration delay :
         {Duration(24h * 3650), Duration(1h), Duration(5ms), Duration(60s), Duration(24h),
          Duration(1ms), Duration(70ms), Duration(24h * 365), Duration(5s)}) {
        alarms.emplace_back([&order, delay] { order.push_back(delay); });
        wheel.arm(alarms.back(), start + delay);
    }
    EXPECT_EQ(wheel.advance(start + 24h * 365 * 200), alarms.size());
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_EQ(wheel.next_wake(), std::nullopt);
}

TEST_F(TimerWheelTest, TimeMayStandStillOrGoBack) {
    Alarm alarm;
    wheel.advance(start + 1s);
    wheel.arm(alarm, start + 1s + 5ms);
    wheel.advance(start + 1s);
    wheel.advance(start);
    wheel.advance(Instant::min());
    EXPECT_EQ(alarm.rings, 0);
    EXPECT_EQ(wheel.next_wake(), start + 1s + 5ms);
    wheel.advance(start + 1s + 5ms);
    EXPECT_EQ(alarm.rings, 1);
}

TEST_F(TimerWheelTest, TheLastInstantIsADeadlineLikeAnyOther) {
    for (const Instant origin : {Instant::min(), Instant(), start}) {
        TimerWheel whole(origin);
        Alarm last, second_last;
        whole.arm(last, Instant::max());
        whole.arm(second_last, Instant::max() - 1s);
        ASSERT_TRUE(whole.next_wake().has_value());
        EXPECT_GT(*whole.next_wake(), origin);
        whole.advance(Instant::max() - 1ns);
        EXPECT_EQ(last.rings, 0);
        EXPECT_EQ(second_last.rings, 1);
        EXPECT_EQ(whole.next_wake(), Instant::max());
        EXPECT_EQ(whole.advance(Instant::max()), 1U);
        EXPECT_EQ(last.rings, 1);
    }
}

// The last whole tick is due when it ends; only what lies behind it is due at the last Instant.
TEST_F(TimerWheelTest, TheLastWholeTickIsDueAtItsEnd) {
    TimerWheel whole(Instant{});
    const auto last_whole = std::chrono::floor<std::chrono::milliseconds>(Instant::max());
    Alarm alarm, behind;
    whole.arm(alarm, last_whole);
    EXPECT_EQ(alarm.due(), last_whole);
    whole.arm(behind, last_whole + 1ns);
    EXPECT_EQ(behind.due(), Instant::max());
}

TEST_F(TimerWheelTest, HoldsAMillion) {
    constexpr std::size_t count = 1'000'000;
    class Tally final : public Timer {
      public:
        std::size_t* fired = nullptr;

      private:
        void on_expired() override { ++*fired; }
    };
    std::size_t fired = 0;
    std::vector<Tally> timers(count);
    Random random(1);
    for (Tally& timer : timers) {
        timer.fired = &fired;
        wheel.arm(timer, start + Duration(random.below(Duration(10min).count())));
    }
    for (std::size_t i = 0; i < count; i += 2) {  // refreshed beyond the ten minutes
        wheel.arm(timers[i], start + 11min + Duration(random.below(Duration(1min).count())));
    }
    EXPECT_EQ(wheel.armed_count(), count);
    for (Duration passed = 0s; passed <= 10min; passed += 1s) wheel.advance(start + passed);
    EXPECT_EQ(fired, count / 2);
    wheel.advance(start + 1h);
    EXPECT_EQ(fired, count);
}

// Does the same to a wheel and to a multimap by tick, and expects the same in the same order.
class WheelAgainstModel {
  public:
    explicit WheelAgainstModel(std::uint64_t seed) : random_(seed) {
        for (int i = 0; i < count; ++i) alarms_.emplace_back([this, i] { ring(i); });
        places_.assign(count, model_.end());
    }

    void run(int steps) {
        for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
            switch (random_.below(8)) {
                case 0:
                    cancel(any());
                    break;
                case 1:
                case 2:
                    advance();
                    break;
                default:
                    arm(any());
            }
            ASSERT_EQ(wheel_.armed_count(), model_.size());
            check_wake();
        }
    }

  private:
    static constexpr int count = 40;
    // Equal keys stay in the order of arming.
    struct Key {
        bool ahead;  // false: armed for the past
        std::int64_t tick;
        auto operator<=>(const Key&) const = default;
    };
    using Model = std::multimap<Key, int>;

    int any() { return static_cast<int>(random_.below(count)); }
    Duration some_time() {
        const auto bits = random_.below(58);
        return Duration(static_cast<std::int64_t>(random_.next() >> (63 - bits)));
    }

    void arm(int i) {
        Instant when = random_.chance(1, 6) ? now_ - some_time() : now_ + some_time();
        if (random_.chance(1, 50)) when = Instant::max();
        wheel_.arm(alarms_[static_cast<std::size_t>(i)], when);
        forget(i);
        const std::int64_t ns = (when - start_).count();
        const Key key = when <= now_ ? Key{false, 0} : Key{true, (ns - 1) / 1'000'000 + 1};
        places_[static_cast<std::size_t>(i)] = model_.emplace(key, i);
    }
    void cancel(int i) {
        wheel_.cancel(alarms_[static_cast<std::size_t>(i)]);
        forget(i);
    }
    void forget(int i) {
        auto& place = places_[static_cast<std::size_t>(i)];
        if (place != model_.end()) model_.erase(std::exchange(place, model_.end()));
    }
    void advance() {
        if (now_ < start_ + 24h * 365 * 100) now_ += random_.chance(1, 10) ? 0ns : some_time();
        const std::int64_t tick = (now_ - start_).count() / 1'000'000;
        const std::size_t before = rung_;
        due_.clear();
        for (const auto& [key, i] : model_) {
            if (key.tick <= tick) due_.push_back(i);
        }
        const std::size_t fired = wheel_.advance(now_);
        EXPECT_EQ(fired, rung_ - before);
        EXPECT_TRUE(due_.empty()) << due_.size() << " did not fire";
    }
    void ring(int i) {
        ++rung_;
        ASSERT_FALSE(due_.empty()) << "alarm " << i << " is early";
        EXPECT_EQ(i, due_.front());
        due_.erase(due_.begin());
        forget(i);
        // Meddle: with this one, and with others that may be due now.
        if (random_.chance(1, 3)) arm(i);
        if (random_.chance(1, 3)) meddle(any());
    }
    void meddle(int i) {
        std::erase(due_, i);
        random_.chance(1, 2) ? arm(i) : cancel(i);
    }
    void check_wake() {
        const auto wake = wheel_.next_wake();
        ASSERT_EQ(wake.has_value(), !model_.empty());
        if (!wake) return;
        const Key first = model_.begin()->first;
        if (!first.ahead) {
            EXPECT_EQ(*wake, now_);
        } else {
            EXPECT_LE((*wake - start_).count() / 1'000'000, first.tick);
            EXPECT_GT(*wake, now_ - 1ms);
        }
    }

    const Instant start_ = Instant(777'777'777ns);
    Instant now_ = start_;
    Random random_;
    TimerWheel wheel_{start_};
    std::deque<Alarm> alarms_;
    Model model_;
    std::vector<Model::iterator> places_;
    std::vector<int> due_;  // what the present advance() has still to fire, in order
    std::size_t rung_ = 0;
};

TEST(TimerWheelRandom, AgreesWithASortedMapWhateverIsDone) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        WheelAgainstModel(seed).run(1'000);
        if (::testing::Test::HasFailure()) break;
    }
}

TEST(TimerWheelDeathTest, MisuseAborts) {
    const Instant start{};
    TimerWheel one(start), other(start);
    Alarm alarm;
    one.arm(alarm, start + 1s);
    EXPECT_DEATH(other.arm(alarm, start + 1s), "another wheel");
    EXPECT_DEATH(other.cancel(alarm), "another wheel");
    Alarm nested([&] { one.advance(start + 2s); });
    one.arm(nested, start);
    EXPECT_DEATH(one.advance(start), "inside a callback");
}

}  // namespace
}  // namespace tiderace::core
