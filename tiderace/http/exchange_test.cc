#include "tiderace/http/exchange.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "tiderace/http/site_loop.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http {
namespace {

using testing::RecordedExchange;

class ExchangeTest : public ::testing::Test {
  protected:
    testing::FakeWorld world_;
    core::Ref<RecordedExchange> exchange_ =
        core::make_ref<RecordedExchange>(world_.loop(), "GET", "/");
};

TEST_F(ExchangeTest, IsAnsweredOnce) {
    EXPECT_FALSE(exchange_->responded());
    exchange_->respond_status(404);
    EXPECT_TRUE(exchange_->responded());
    EXPECT_EQ(exchange_->status(), 404);
}

TEST_F(ExchangeTest, ASecondAnswerIsIgnored) {
    exchange_->respond_status(200);
    exchange_->respond_status(404);
    EXPECT_EQ(exchange_->status(), 200);
}

TEST_F(ExchangeTest, IsAnsweredByATemporaryToo) {
    exchange_->respond(Response(418));
    EXPECT_EQ(exchange_->status(), 418);
}

TEST_F(ExchangeTest, ADeferredOneLivesAsLongAsItsRef) {
    core::Ref<Exchange> kept = exchange_->defer();
    const RecordedExchange& recorded = *std::exchange(exchange_, {});
    kept->respond_status(202);
    EXPECT_EQ(recorded.status(), 202);
}

TEST_F(ExchangeTest, AnAbandonedExchangeIsNotifiedOnceAndItsAnswerDoesNothing) {
    int told = 0;
    exchange_->on_abandoned([&] { ++told; });
    exchange_->hang_up();
    exchange_->hang_up();
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(exchange_->abandoned());
    exchange_->respond_status(200);
    EXPECT_FALSE(exchange_->responded());
    EXPECT_EQ(exchange_->status(), 0);
}

TEST_F(ExchangeTest, KnowsTheClientThatATrustedProxyReported) {
    exchange_->set_client(core::Address::loopback(7), true);
    EXPECT_EQ(exchange_->request().peer->port(), 7);
    EXPECT_TRUE(exchange_->request().secure);
    exchange_->set_client(core::Address::loopback(8), false);
    EXPECT_EQ(exchange_->request().peer->port(), 8);
    EXPECT_FALSE(exchange_->request().secure);
}

TEST_F(ExchangeTest, AnObserverMayDropTheLastRef) {
    core::Ref<Exchange> kept = exchange_->defer();
    RecordedExchange& recorded = *std::exchange(exchange_, {});
    kept->on_abandoned([&] { kept = {}; });
    recorded.hang_up();
    EXPECT_FALSE(kept);
}

// --- what a connection sees of it ------------------------------------------------------------

// Its calls to the connection, as a text.
class Bare final : public Exchange {
  public:
    explicit Bare(core::EventLoop& loop) : loop_(&loop) {}

    core::EventLoop& loop() override { return *loop_; }
    void pin() override {}
    void set_body_reading(bool) override {}
    void body_ready() override {}
    bool upgrade(Response&, unique_function<net::Session&(net::Connection&)>) override {
        return false;
    }
    using Exchange::stop_waiting;

    std::string calls;
    bool throws = false;

  private:
    void send(Response& response) override {
        calls += std::to_string(response.status()) + ' ';
        if (throws) throw std::bad_alloc();
    }
    void break_off() override {}
    void break_connection() override { calls += "broken "; }
    void start_body() override {}

    core::EventLoop* loop_;
};

class BareExchange : public ::testing::Test {
  protected:
    struct Nobody final : Handler {
        void handle(Exchange&) override {}
    } nobody_;
    testing::FakeWorld world_;
    core::Ref<Bare> exchange_ = core::make_ref<Bare>(world_.loop());
};

// Its head may be out: a second answer would be taken for another request's.
TEST_F(BareExchange, AnAnswerThatThrowsInItsMiddleIsBrokenOffAndNotAnsweredAgain) {
    exchange_->throws = true;
    exchange_->respond_status(200);
    EXPECT_EQ(exchange_->calls, "200 broken ");
}

TEST_F(BareExchange, AFilterThatThrowsLeavesA500WhichIsBrokenOffWhereItThrowsToo) {
    struct Filter final : ResponseFilter {
        void filter(Exchange&, Response&) override { throw std::runtime_error("a filter"); }
    } filter;
    for (const bool throws : {false, true}) {
        exchange_ = core::make_ref<Bare>(world_.loop());
        SiteLoop site(nobody_);
        site.add(filter);
        exchange_->set_site(site);
        exchange_->throws = throws;
        exchange_->respond_status(200);
        EXPECT_EQ(exchange_->calls, throws ? "500 broken " : "500 ");
    }
}

TEST_F(BareExchange, ADeadlineThatIsSetAroundTheAnswerDoesNothing) {
    exchange_->set_deadline(world_.loop().now() + 5s);
    exchange_->respond_status(200);
    exchange_->set_deadline(world_.loop().now() + 5s);
    world_.advance(10s);
    EXPECT_EQ(exchange_->calls, "200 ") << "its body may be on its way";
    EXPECT_FALSE(exchange_->abandoned());
}

// A page for errors shows it in place of the plain sentence.
TEST_F(BareExchange, AFilterSeesTheReasonOfADeadlinesAnswer) {
    struct Filter final : ResponseFilter {
        void filter(Exchange&, Response& response) override { reason = response.explanation(); }
        std::string reason;
    } filter;
    SiteLoop site(nobody_);
    site.add(filter);
    exchange_->set_site(site);
    exchange_->set_deadline(world_.loop().now() + 5s);
    world_.advance(10s);
    EXPECT_EQ(exchange_->calls, "503 ");
    EXPECT_EQ(filter.reason, "The answer took too long.");
}

// It could never be called, and what it holds may be much.
TEST_F(BareExchange, ACallbackThatComesTooLateIsNotKept) {
    const auto held = std::make_shared<int>();
    exchange_->on_abandoned([held] {});
    EXPECT_EQ(held.use_count(), 2);
    exchange_->respond_status(204);
    exchange_->stop_waiting();
    EXPECT_EQ(held.use_count(), 1);
    exchange_->on_abandoned([held] {});
    EXPECT_EQ(held.use_count(), 1) << "it is answered";
    const auto gone = core::make_ref<RecordedExchange>(world_.loop(), "GET", "/");
    gone->hang_up();
    gone->on_abandoned([held] {});
    EXPECT_EQ(held.use_count(), 1) << "its client is gone";
}

TEST_F(BareExchange, WhatIsAnsweredToItsEndHasNoObservers) {
    struct Counter final : AbandonObserver {
        void on_abandoned() override { ++told; }
        int told = 0;
    } before, late;
    EXPECT_TRUE(exchange_->observe(before));
    exchange_->respond_status(204);
    exchange_->stop_waiting();
    EXPECT_FALSE(before.linked());
    EXPECT_FALSE(exchange_->observe(late));
    EXPECT_FALSE(late.linked());
    exchange_->on_abandoned([] { FAIL() << "it was answered before"; });
    exchange_ = {};
    EXPECT_EQ(before.told + late.told, 0);
}

}  // namespace
}  // namespace tiderace::http
