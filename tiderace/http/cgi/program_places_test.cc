#include "tiderace/http/cgi/program_places.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tiderace::http::cgi {
namespace {

using Outcome = ProgramPlaces::Waiter::Outcome;

class Asker final : public ProgramPlaces::Waiter {
  public:
    using Waiter::Waiter;
    int granted = 0;

  private:
    void on_granted() override { ++granted; }
};

class ProgramPlacesTest : public ::testing::Test {
  protected:
    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    std::shared_ptr<ProgramPlaces> places_ = std::make_shared<ProgramPlaces>(1, 2);
};

TEST_F(ProgramPlacesTest, AreGivenInTheOrderOfAsking) {
    Asker a(places_, *loop_), b(places_, *loop_), c(places_, *loop_), d(places_, *loop_);
    EXPECT_EQ(a.ask(), Outcome::now);
    EXPECT_EQ(b.ask(), Outcome::later);
    EXPECT_EQ(c.ask(), Outcome::later);
    EXPECT_EQ(d.ask(), Outcome::full);
    a.give_back();
    loop_->turn(0ms);
    EXPECT_EQ(b.granted, 1);
    EXPECT_EQ(c.granted, 0);
    b.give_back();
    loop_->turn(0ms);
    EXPECT_EQ(c.granted, 1);
    c.give_back();
    EXPECT_EQ(places_->taken(), 0U);
}

TEST_F(ProgramPlacesTest, OneThatGivesUpLosesNothingForOthers) {
    Asker a(places_, *loop_), c(places_, *loop_);
    auto b = std::make_unique<Asker>(places_, *loop_);
    EXPECT_EQ(a.ask(), Outcome::now);
    EXPECT_EQ(b->ask(), Outcome::later);
    EXPECT_EQ(c.ask(), Outcome::later);
    a.give_back();  // on its way to b
    b.reset();
    for (int i = 0; i < 3; ++i) loop_->turn(0ms);
    EXPECT_EQ(c.granted, 1);
    c.give_back();
    EXPECT_EQ(places_->taken(), 0U);
    EXPECT_EQ(places_->waiting(), 0U);
}

TEST_F(ProgramPlacesTest, AreSharedByLoops) {
    const auto places = std::make_shared<ProgramPlaces>(2, 1000);
    std::atomic<int> running = 0, most = 0, served = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            auto loop = std::move(*core::EventLoop::create({}));
            struct Job final : ProgramPlaces::Waiter {
                using Waiter::Waiter;
                void on_granted() override { has = true; }
                bool has = false;
            };
            for (int i = 0; i < 50; ++i) {
                Job job(places, *loop);
                job.has = job.ask() == Outcome::now;
                while (!job.has) loop->turn(1ms);
                const int now = ++running;
                for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
                }
                ++served;
                --running;
                job.give_back();
            }
        });
    }
    threads.clear();
    EXPECT_EQ(served, 200);
    EXPECT_LE(most, 2);
    EXPECT_EQ(places->taken(), 0U);
}

}  // namespace
}  // namespace tiderace::http::cgi
