#include "tiderace/db/reserve.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tiderace/db/error.h"
#include "tiderace/task/runner_fixture.h"
#include "tiderace/task/sleep.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::db {
namespace {

// The behaviour of a test's connections.
struct Behaviour {
    int refusals = 0;
    bool there = true;
    bool recovers = true;
    int made = 0;
    int recovered = 0;
};

class Fake final : public Pooled {
  public:
    explicit Fake(Behaviour& behaviour) : behaviour_(&behaviour) { ++behaviour.made; }
    task::Task<> open(Instant) override {
        if (behaviour_->refusals-- > 0) throw Error(Fault::connection_lost, "refused");
        co_return;
    }
    task::Task<bool> recover() override {
        ++behaviour_->recovered;
        co_await task::sleep(10ms);
        is_clean = behaviour_->recovers;
        co_return behaviour_->recovers;
    }
    task::Task<bool> answers(Instant) override { co_return behaviour_->there; }
    bool gone() override { return false; }
    bool clean() const override { return is_clean; }
    bool broken() const override { return is_broken; }

    bool is_clean = true;
    bool is_broken = false;

  private:
    Behaviour* behaviour_;
};

class ReserveTest : public task::TaskTest {
  protected:
    Reserve make(ReserveOptions options = {}) {
        return {runner, options, [this] { return std::make_unique<Fake>(behaviour); }};
    }
    static Fake& fake(const Loan& loan) { return static_cast<Fake&>(*loan.get()); }

    Behaviour behaviour;
};

TEST_F(ReserveTest, ACleanOneIsUsedAgainAndABrokenOneIsNot) {
    Reserve reserve = make();
    run([](Reserve& from, Behaviour& seen) -> task::Task<> {
        {
            const Loan first = co_await from.take(Instant::max());
        }
        {
            const Loan second = co_await from.take(Instant::max());
            EXPECT_EQ(seen.made, 1);
            fake(second).is_broken = true;
        }
        {
            const Loan third = co_await from.take(Instant::max());
        }
        EXPECT_EQ(seen.made, 2);
        EXPECT_EQ(from.counters().idle, 1U);
        EXPECT_EQ(from.counters().lent, 0U);
    }(reserve, behaviour));
}

TEST_F(ReserveTest, OneThatIsNotCleanIsRecoveredWithItsPlace) {
    Reserve reserve = make({.connections_max = 1});
    run([](Reserve& from, Behaviour& seen) -> task::Task<> {
        {
            const Loan loan = co_await from.take(Instant::max());
            fake(loan).is_clean = false;
        }
        EXPECT_EQ(from.counters().lent, 1U);
        {
            const Loan again = co_await from.take(Instant::max());
        }
        EXPECT_EQ(seen.recovered, 1);
        EXPECT_EQ(seen.made, 1);
        seen.recovers = false;
        {
            const Loan loan = co_await from.take(Instant::max());
            fake(loan).is_clean = false;
        }
        {
            const Loan again = co_await from.take(Instant::max());
        }
        EXPECT_EQ(seen.made, 2);
    }(reserve, behaviour));
}

TEST_F(ReserveTest, ALoanThatIsKeptLongerHasNoConnection) {
    Loan kept;
    {
        Reserve reserve = make({.connections_max = 2});
        run([](Reserve& from, Loan& out) -> task::Task<> {
            out = co_await from.take(Instant::max());
            const Loan other = co_await from.take(Instant::max());
            Loan moved = std::move(out);
            EXPECT_EQ(out.get(), nullptr);
            out = std::move(moved);
        }(reserve, kept));
        EXPECT_NE(kept.get(), nullptr);
    }
    EXPECT_EQ(kept.get(), nullptr);
}

// A Loan ends in a destructor, often while an exception is on its way.
TEST_F(ReserveTest, GivingBackNeverFailsForMemory) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    for (const bool is_clean : {true, false}) {
        testing::fail_each([&](std::uint64_t nth) {
            Reserve reserve = make({.connections_max = 2});
            Loan loan;
            run([](Reserve& from, Loan& taken) -> task::Task<> {
                taken = co_await from.take(Instant::max());
            }(reserve, loan));
            fake(loan).is_clean = is_clean;
            const std::uint64_t failed = [&] {
                const testing::ScarceMemory scarce(nth);
                EXPECT_NO_THROW(loan.give_back());
                return scarce.failed();
            }();
            world.advance(1s);
            EXPECT_EQ(reserve.counters().lent, 0U) << nth;
            EXPECT_EQ(reserve.counters().idle, is_clean || !failed ? 1U : 0U) << nth;
            run([](Reserve& from) -> task::Task<> {
                const Loan first = co_await from.take(Instant::max());
                const Loan second = co_await from.take(Instant::max());
            }(reserve));
            return failed;
        });
    }
}

TEST_F(ReserveTest, WaitsForAPlaceAndNotForEver) {
    Reserve reserve = make({.connections_max = 1, .waiting_max = 1});
    const Instant start = world.loop().now();
    run([](Reserve& from, Instant until) -> task::Task<> {
        const Loan held = co_await from.take(Instant::max());
        try {
            const Loan never = co_await from.take(until);
            ADD_FAILURE() << "there is one place";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), Fault::busy);
        }
    }(reserve, start + 100ms));
    EXPECT_GE(elapsed(), 100ms);
    EXPECT_EQ(reserve.counters().waiting, 0U);
}

task::Task<> expect_lost(Reserve& from, Instant until) {
    try {
        const Loan loan = co_await from.take(until);
        ADD_FAILURE() << "it was refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Fault::connection_lost);
    }
}

TEST_F(ReserveTest, AttemptsGoOnWithPausesUntilTheDeadline) {
    behaviour.refusals = 3;
    Reserve reserve = make({.reconnect_pause = 100ms});
    run([](Reserve& from) -> task::Task<> {
        const Loan loan = co_await from.take(Instant::max());
        EXPECT_EQ(from.counters().failed, 3U);
    }(reserve));
    EXPECT_GE(elapsed(), 525ms);  // 75 + 150 + 300
    behaviour.refusals = 100;
    Reserve another = make({.reconnect_pause = 100ms});
    run(expect_lost(another, world.loop().now() + 1s));
}

TEST_F(ReserveTest, ThePauseOfAnotherTaskIsNotWaitedForBeyondTheDeadline) {
    behaviour.refusals = 100;
    Reserve reserve = make({.reconnect_pause = 1h, .reconnect_pause_max = 1h});
    task::Task<> patient = [](Reserve& from) -> task::Task<> {
        const Loan loan = co_await from.take(Instant::max());
    }(reserve);
    Kept root;
    root.start(runner, std::move(patient));
    world.settle();
    EXPECT_EQ(reserve.counters().failed, 1U);
    run(expect_lost(reserve, world.loop().now() + 1s));
    EXPECT_LT(elapsed(), 1min);
    EXPECT_EQ(reserve.counters().failed, 1U);
}

TEST_F(ReserveTest, TasksWithLittleTimeLeaveAServerAloneThatIsAway) {
    behaviour.refusals = 100;
    Reserve reserve = make({.reconnect_pause = 1h, .reconnect_pause_max = 1h});
    for (int i = 0; i < 10; ++i) run(expect_lost(reserve, world.loop().now() + 100ms));
    EXPECT_EQ(reserve.counters().failed, 1U);
    world.advance(2h);
    behaviour.refusals = 0;
    run([](Reserve& from, Instant until) -> task::Task<> {
        const Loan loan = co_await from.take(until);
    }(reserve, world.loop().now() + 100ms));
    EXPECT_EQ(reserve.counters().opened, 1U);
}

TEST_F(ReserveTest, OneThatWasIdleForLongAndDoesNotAnswerIsLeft) {
    Reserve reserve = make({.check_after = 1s});
    run([](Reserve& from, Behaviour& seen) -> task::Task<> {
        {
            const Loan loan = co_await from.take(Instant::max());
        }
        co_await task::sleep(2s);
        seen.there = false;
        {
            const Loan loan = co_await from.take(Instant::max());
        }
        EXPECT_EQ(seen.made, 2);
    }(reserve, behaviour));
}

}  // namespace
}  // namespace tiderace::db
