#include "load/pace_ticks.h"

#include <gtest/gtest.h>

#include "load/pacer.h"

namespace tiderace::load {
namespace {

// Takes what is due at each tick, as a LoadWorker does.
class Taking final : private PaceTicks::Receiver {
  public:
    Taking(core::EventLoop& loop, double rate, Duration ramp)
        : loop_(&loop), pacer_(rate, 0, ramp), ticks_(loop, *this) {
        pacer_.begin(loop.clock().now());
        take_all();
    }
    int ticks = 0;
    int idle_ticks = 0;

  private:
    void on_tick() override {
        ++ticks;
        idle_ticks += !pacer_.is_due(loop_->clock().now());
        take_all();
    }
    void take_all() {
        const Instant now = loop_->clock().now();
        while (pacer_.take(now)) {
        }
        ticks_.set(*pacer_.next_due(now));
    }

    core::EventLoop* loop_;
    LoadPacer pacer_;
    PaceTicks ticks_;
};

// A tick that is not made for a request is early for one and late for the next: with a period, a
// ramp's requests were sent up to a whole period late, and its latency said so of the server.
TEST(PaceTicks, EachIsForARequest) {
    auto loop = std::move(*core::EventLoop::create({}));
    Taking taking(*loop, 100, 1s);
    while (taking.ticks < 5) loop->turn(Duration(-1));
    EXPECT_EQ(taking.idle_ticks, 0);
}

TEST(PaceTicks, AnEarlierOneThatIsSetStays) {
    auto loop = std::move(*core::EventLoop::create({}));
    struct Counting final : PaceTicks::Receiver {
        void on_tick() override { ++ticks; }
        int ticks = 0;
    } counting;
    PaceTicks ticks(*loop, counting);
    const Instant now = loop->clock().now();
    ticks.set(now + 1h);
    ticks.set(now + 1ms);
    ticks.set(now + 2h);
    while (counting.ticks == 0) loop->turn(Duration(-1));
    EXPECT_GE(loop->clock().now(), now + 1ms);
    // Each set() is one tick: without another, none comes again.
    for (int i = 0; i < 3; ++i) loop->turn(Duration::zero());
    EXPECT_EQ(counting.ticks, 1);
    ticks.set(now);
    while (counting.ticks == 1) loop->turn(Duration(-1));
}

}  // namespace
}  // namespace tiderace::load
