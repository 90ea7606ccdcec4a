#include "tiderace/http/filter/basic_auth.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <semaphore>
#include <thread>

#include "tiderace/http/site_loop.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/manual_clock.h"
#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::http::filter {
namespace {

constexpr const char* good = "Basic YTpi";  // a:b
constexpr const char* bad = "Basic YTpj";   // a:c

class Inside final : public Handler {
  public:
    void handle(Exchange& exchange) override { exchange.respond_status(204); }
};

class BasicAuthTest : public ::testing::Test {
  protected:
    BasicAuthTest() {
        core::LoopOptions options;
        options.clock = &clock_;
        loop_ = std::move(*core::EventLoop::create(options));
    }
    ~BasicAuthTest() override { pool_.reset(); }

    BasicAuth& rule() {
        if (!rule_) {
            rule_ = std::make_unique<BasicAuth>(*loop_, *pool_, std::move(options_));
            site_.add(*rule_);
        }
        return *rule_;
    }
    core::Ref<testing::RecordedExchange> start(const char* authorization) {
        testing::RecordedExchange::Fields fields;
        if (authorization != nullptr) fields = {{"Authorization", authorization}};
        auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", "/", fields);
        rule();
        site_.serve(*exchange);
        return exchange;
    }
    core::Ref<testing::RecordedExchange> ask(const char* authorization) {
        auto exchange = start(authorization);
        while (!exchange->responded()) loop_->turn(1s);
        return exchange;
    }

    testing::ManualClock clock_;
    std::unique_ptr<core::EventLoop> loop_;
    Inside inside_;
    SiteLoop site_{inside_};
    std::atomic<int> verified_ = 0;
    BasicAuthOptions options_{.realm = "the \"harbour\"",
                              .verify = [this](ByteView user, ByteView password) {
                                  ++verified_;
                                  return user == "a" && password == "b";
                              }};
    std::unique_ptr<core::WorkerPool> pool_ = std::make_unique<core::WorkerPool>(1, 4);
    std::unique_ptr<BasicAuth> rule_;
};

TEST_F(BasicAuthTest, AsksClientsThatSendNoCredentials) {
    for (const char* authorization : {(const char*)nullptr, "Basic ???", "Bearer x"}) {
        const auto answer = ask(authorization);
        EXPECT_EQ(answer->status(), 401);
        EXPECT_EQ(answer->header("WWW-Authenticate"),
                  "Basic realm=\"the \\\"harbour\\\"\", charset=\"UTF-8\"");
    }
    EXPECT_EQ(verified_, 0);
}

TEST_F(BasicAuthTest, LetsTheGoodInAndRemembersThem) {
    EXPECT_EQ(ask(good)->status(), 204);
    EXPECT_EQ(ask(good)->status(), 204);
    EXPECT_EQ(verified_, 1);
    clock_.advance(6min);
    loop_->turn(0s);
    EXPECT_EQ(ask(good)->status(), 204);
    EXPECT_EQ(verified_, 2);
}

TEST_F(BasicAuthTest, MayRememberForEver) {
    options_.remember = Duration::max();
    EXPECT_EQ(ask(good)->status(), 204);
    clock_.advance(24h);
    loop_->turn(0s);
    EXPECT_EQ(ask(good)->status(), 204);
    EXPECT_EQ(verified_, 1);
}

// It runs on a thread of the pool, where an exception would end the process.
TEST_F(BasicAuthTest, AVerificationThatThrowsIsNoVerdict) {
    options_.verify = [this](ByteView, ByteView) -> bool {
        if (++verified_ == 1) throw std::bad_alloc();
        return true;
    };
    const auto unlucky = ask(good);
    EXPECT_EQ(unlucky->status(), 503);
    EXPECT_EQ(unlucky->header("Retry-After"), "1");
    EXPECT_EQ(rule().remembered(), 0U);
    EXPECT_EQ(ask(good)->status(), 204);
}

TEST_F(BasicAuthTest, NeverRemembersTheBad) {
    EXPECT_EQ(ask(bad)->status(), 401);
    EXPECT_EQ(ask(bad)->status(), 401);
    EXPECT_EQ(verified_, 2);
    EXPECT_EQ(rule().remembered(), 0U);
}

TEST_F(BasicAuthTest, RemembersABoundedNumber) {
    options_.remembered_max = 2;
    options_.verify = [](ByteView, ByteView) { return true; };
    for (const char* each : {"Basic YTph", "Basic YTpi", "Basic YTpj"}) ask(each);
    EXPECT_EQ(rule().remembered(), 2U);
}

TEST_F(BasicAuthTest, AFloodOfGuessesIsAnsweredBusy) {
    options_.waiting_max = 2;
    const auto first = start(bad), second = start(bad), third = start(bad);
    EXPECT_EQ(third->status(), 503);
    EXPECT_EQ(third->header("Retry-After"), "1");
    while (!first->responded() || !second->responded()) loop_->turn(1s);
    EXPECT_EQ(rule().waiting(), 0U);
}

// A loop that drowns refuses posts for a while; the verdict comes when it has room.
TEST_F(BasicAuthTest, AVerdictThatTheMailboxRefusesIsAnsweredAllTheSame) {
    core::LoopOptions small;
    small.clock = &clock_;
    small.mailbox_posts_max = 1;
    loop_ = std::move(*core::EventLoop::create(small));
    std::binary_semaphore go(0);
    std::atomic<bool> full = false;
    options_.verify = [&](ByteView, ByteView) {
        go.acquire();
        full = true;
        return true;
    };
    const auto waits = start(good);
    ASSERT_TRUE(loop_->post([] {}));
    go.release();
    while (!full) std::this_thread::yield();
    // Until the pool's thread has given up, or has had time to try in vain.
    for (int i = 0; i < 50 && pool_->counters().completed == 0; ++i) {
        std::this_thread::sleep_for(1ms);
    }
    for (int i = 0; i < 10'000 && !waits->responded(); ++i) loop_->turn(1ms);
    EXPECT_EQ(waits->status(), 204);
    EXPECT_EQ(rule().waiting(), 0U);
}

TEST_F(BasicAuthTest, APeerThatLeftIsForgotten) {
    const auto gone = start(good);
    gone->hang_up();
    EXPECT_EQ(rule().waiting(), 0U);
    EXPECT_EQ(ask(bad)->status(), 401);  // queued behind it, so the first verdict has come back too
    EXPECT_FALSE(gone->responded());
}

TEST_F(BasicAuthTest, WhatAPeerThatLeftGuessedIsNotVerified) {
    std::binary_semaphore go(0);
    options_.verify = [&](ByteView, ByteView) {
        if (++verified_ == 1) go.acquire();
        return false;
    };
    const auto first = start(bad), second = start(bad), third = start(bad);
    second->hang_up();
    third->hang_up();
    go.release();
    EXPECT_EQ(ask(bad)->status(), 401);  // queued behind them
    EXPECT_EQ(verified_, 2);
    EXPECT_EQ(first->status(), 401);
}

TEST(VerifyPlain, KnowsItsUsers) {
    const auto verify = verify_plain({{"ann", "one"}, {"bob", "two"}});
    EXPECT_TRUE(verify("ann", "one"));
    EXPECT_TRUE(verify("bob", "two"));
    EXPECT_FALSE(verify("ann", "two"));
    EXPECT_FALSE(verify("eve", "one"));
    EXPECT_FALSE(verify("", ""));
}

// An entry that stays in the table would hold its exchange for ever, and take a place from all that
// follow.
TEST_F(BasicAuthTest, KeepsNoRequestThatItHasNoMemoryFor) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    rule();
    testing::fail_each([&](std::uint64_t nth) {
        const auto exchange = core::make_ref<testing::RecordedExchange>(
            *loop_, "GET", "/", testing::RecordedExchange::Fields{{"Authorization", bad}});
        const bool failed = [&] {
            const testing::ScarceMemory scarce(nth);
            exchange->run([&] { site_.serve(*exchange); });
            return scarce.failed();
        }();
        while (!exchange->responded()) loop_->turn(1s);
        EXPECT_EQ(rule().waiting(), 0U) << nth;
        EXPECT_EQ(exchange->status() >= 500, failed) << nth;
        return failed;
    });
}

}  // namespace
}  // namespace tiderace::http::filter
