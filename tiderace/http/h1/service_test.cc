#include "tiderace/http/h1/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tiderace/http/h1/messages_fixture.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h1_stage.h"

namespace tiderace::http {
namespace {

class H1ServiceTest : public ::testing::Test {
  protected:
    static H1Options named() {
        H1Options options;
        options.server_name = "tide";
        return options;
    }

    testing::FakeWorld world_;
    testing::H1Stage stage_{world_, named()};
    H1Service& service_ = stage_.service();
};

TEST_F(H1ServiceTest, TheStandingFieldsAreRenderedOnceASecond) {
    EXPECT_EQ(service_.standing_fields(),
              "Server: tide\r\nDate: Sun, 09 Sep 2001 01:46:40 GMT\r\n");
    world_.advance(999ms);
    EXPECT_EQ(service_.standing_fields(),
              "Server: tide\r\nDate: Sun, 09 Sep 2001 01:46:40 GMT\r\n");
    world_.advance(1ms);
    EXPECT_EQ(service_.standing_fields(),
              "Server: tide\r\nDate: Sun, 09 Sep 2001 01:46:41 GMT\r\n");
}

TEST_F(H1ServiceTest, TheDateIsRightInSeptemberAndDecember) {
    world_.clock().set_unix(1'798'675'199);  // a loop reads the calendar once a second
    world_.advance(2s);
    EXPECT_THAT(std::string(service_.standing_fields()),
                ::testing::HasSubstr("Date: Thu, 31 Dec 2026 00:00:01 GMT"));
    world_.clock().set_unix(1'788'220'800);
    world_.advance(2s);
    EXPECT_THAT(std::string(service_.standing_fields()),
                ::testing::HasSubstr("Date: Tue, 01 Sep 2026 00:00:02 GMT"));
}

TEST_F(H1ServiceTest, WithoutANameThereIsNoServerField) {
    testing::H1Stage plain(world_);
    EXPECT_EQ(plain.service().standing_fields(), "Date: Sun, 09 Sep 2001 01:46:40 GMT\r\n");
}

TEST_F(H1ServiceTest, AnExchangeGivenBackIsTakenAgain) {
    core::Ref<H1Exchange> exchange = service_.take_exchange();
    const H1Exchange* const first = exchange.get();
    service_.give_back(std::move(exchange));
    EXPECT_EQ(service_.take_exchange().get(), first);
}

TEST_F(H1ServiceTest, AHeldExchangeIsNotReused) {
    core::Ref<H1Exchange> exchange = service_.take_exchange();
    const core::Ref<H1Exchange> held = exchange;
    service_.give_back(std::move(exchange));
    EXPECT_NE(service_.take_exchange().get(), held.get());
}

// A handler answers through its reference, and then releases it or keeps it.
TEST_F(H1ServiceTest, AnExchangeAnsweredLaterIsTakenAgainUnlessItIsHeldStill) {
    std::vector<const Exchange*> served;
    core::Ref<Exchange> kept;
    stage_.on("/later", [&](Exchange& exchange) {
        served.push_back(&exchange);
        kept = exchange.defer();
    });
    const auto peer = stage_.connect();
    const auto answer_next = [&] {
        const std::size_t before = served.size();
        peer->say(get("/later"));
        ASSERT_TRUE(stage_.run_until([&] { return served.size() > before; }));
        kept->respond_status(204);
    };
    answer_next();
    kept = {};
    world_.settle();
    // Memory that was given back is not what the next one gets.
    std::vector<std::unique_ptr<char[]>> others(100);
    for (auto& other : others) other = std::make_unique<char[]>(sizeof(H1Exchange));
    answer_next();
    const core::Ref<Exchange> held = kept;
    answer_next();
    ASSERT_EQ(served.size(), 3U);
    EXPECT_EQ(served[1], served[0]);
    EXPECT_NE(served[2], served[1]);
    EXPECT_TRUE(held->responded());
}

TEST_F(H1ServiceTest, TheLastExchangeGivenBackIsTakenFirst) {
    core::Ref<H1Exchange> one = service_.take_exchange();
    core::Ref<H1Exchange> two = service_.take_exchange();
    const H1Exchange* const first = one.get();
    const H1Exchange* const second = two.get();
    service_.give_back(std::move(one));
    service_.give_back(std::move(two));
    service_.give_back({});
    const core::Ref<H1Exchange> third = service_.take_exchange();
    EXPECT_EQ(third.get(), second);
    EXPECT_EQ(service_.take_exchange().get(), first);
}

TEST_F(H1ServiceTest, CountsRequestsRefusalsAndLateOnes) {
    const auto good = stage_.connect();
    good->say("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto bad = stage_.connect();
    bad->say("GET / HTTP/1.1\r\nHost : a\r\n\r\n");
    const auto slow = stage_.connect();
    slow->say("GET /");
    world_.settle();
    EXPECT_EQ(service_.counters().requests, 3U);
    EXPECT_EQ(service_.counters().refused, 1U);
    EXPECT_EQ(service_.counters().timed_out, 0U);
    world_.advance(service_.options().header_timeout);
    EXPECT_EQ(service_.counters().timed_out, 1U);
}

}  // namespace
}  // namespace tiderace::http
