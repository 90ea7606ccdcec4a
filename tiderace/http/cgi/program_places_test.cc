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
    Outcome ask(const core::ClientKey& client = {}) { return Waiter::ask(client); }
    int granted = 0;
    int displaced = 0;

  private:
    void on_granted() override { ++granted; }
    void on_displaced() override { ++displaced; }
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

TEST_F(ProgramPlacesTest, ALargerNumberAdmitsThoseThatWaitAndASmallerOneEndsNone) {
    const auto places = std::make_shared<ProgramPlaces>(1, 4);
    std::vector<std::unique_ptr<Asker>> all;
    for (int i = 0; i < 5; ++i) {
        all.push_back(std::make_unique<Asker>(places, *loop_));
        EXPECT_EQ(all.back()->ask(), i < 1 ? Outcome::now : Outcome::later);
    }
    places->set_places_max(3);
    loop_->turn(0ms);
    EXPECT_EQ(all[1]->granted + all[2]->granted, 2);
    EXPECT_EQ(all[3]->granted, 0);
    places->set_places_max(1);
    EXPECT_EQ(places->taken(), 3U);
    for (int i = 0; i < 2; ++i) all[static_cast<std::size_t>(i)]->give_back();
    loop_->turn(0ms);
    EXPECT_EQ(all[3]->granted, 0) << "one still runs";
    all[2]->give_back();
    loop_->turn(0ms);
    EXPECT_EQ(all[3]->granted, 1);
    EXPECT_EQ(all[4]->granted, 0);
    all[4]->cancel();
    all[3]->give_back();
    EXPECT_EQ(places->taken(), 0U);
}

const core::ClientKey hog(*core::Address::parse("192.0.2.1:80"));
const core::ClientKey other(*core::Address::parse("192.0.2.2:80"));

TEST_F(ProgramPlacesTest, WhoHasItsShareWaitsForAnotherToGiveBack) {
    const auto places = std::make_shared<ProgramPlaces>(4, 4);
    std::vector<std::unique_ptr<Asker>> hogs;
    for (int i = 0; i < 5; ++i) {
        hogs.push_back(std::make_unique<Asker>(places, *loop_));
        EXPECT_EQ(hogs.back()->ask(hog), i < 3 ? Outcome::now : Outcome::later);
    }
    Asker one(places, *loop_), two(places, *loop_);
    EXPECT_EQ(one.ask(other), Outcome::now);
    EXPECT_EQ(two.ask(other), Outcome::later);
    hogs[0]->give_back();
    loop_->turn(0ms);
    EXPECT_EQ(hogs[3]->granted + hogs[4]->granted + two.granted, 0) << "the last one is for others";
    one.give_back();
    loop_->turn(0ms);
    EXPECT_EQ(hogs[3]->granted, 1) << "three are taken again by the one that asked first";
    EXPECT_EQ(two.granted, 1) << "and the last one is still for others";
    hogs[1]->give_back();
    loop_->turn(0ms);
    EXPECT_EQ(hogs[4]->granted, 0);
    two.give_back();
    loop_->turn(0ms);
    EXPECT_EQ(hogs[4]->granted, 1);
    for (const int taken : {2, 3, 4}) hogs[static_cast<std::size_t>(taken)]->give_back();
    EXPECT_EQ(places->taken(), 0U);
}

TEST_F(ProgramPlacesTest, AFullQueueMakesWayForAClientThatWaitsLessOften) {
    Asker first(places_, *loop_), a(places_, *loop_), b(places_, *loop_), c(places_, *loop_);
    EXPECT_EQ(first.ask(hog), Outcome::now);
    EXPECT_EQ(a.ask(hog), Outcome::later);
    EXPECT_EQ(b.ask(hog), Outcome::later);
    EXPECT_EQ(c.ask(hog), Outcome::full);
    EXPECT_EQ(c.ask(other), Outcome::later);
    loop_->turn(0ms);
    EXPECT_EQ(a.displaced, 0);
    EXPECT_EQ(b.displaced, 1) << "the last";
    first.give_back();
    loop_->turn(0ms);
    a.give_back();
    loop_->turn(0ms);
    EXPECT_EQ(c.granted, 1);
    EXPECT_EQ(b.granted, 0);
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
                void on_displaced() override {}
                bool has = false;
            };
            for (int i = 0; i < 50; ++i) {
                Job job(places, *loop);
                job.has = job.ask({}) == Outcome::now;
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
