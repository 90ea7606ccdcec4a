#include "tiderace/http/site_loop.h"

#include <gtest/gtest.h>

#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http {
namespace {

using testing::RecordedExchange;

class SiteLoopTest : public ::testing::Test {
  protected:
    class Answering final : public Handler {
      public:
        explicit Answering(SiteLoopTest& test) : test_(&test) {}
        void handle(Exchange& exchange) override {
            test_->steps_ += "handler ";
            exchange.respond_status(200);
        }

      private:
        SiteLoopTest* test_;
    };
    class Rule final : public AccessRule {
      public:
        Rule(SiteLoopTest& test, std::string name) : test_(&test), name_(std::move(name)) {}
        Verdict check(Exchange& exchange) override {
            test_->steps_ += name_ + " ";
            if (verdict == AccessRule::Verdict::answered) exchange.respond_status(403);
            if (verdict == AccessRule::Verdict::later) kept = exchange.defer();
            return verdict;
        }
        Verdict verdict = AccessRule::Verdict::pass;
        core::Ref<Exchange> kept;

      private:
        SiteLoopTest* test_;
        std::string name_;
    };
    class Mark final : public ResponseFilter {
      public:
        Mark(SiteLoopTest& test, std::string name) : test_(&test), name_(std::move(name)) {}
        void filter(Exchange& exchange, Response& response) override {
            test_->steps_ += name_ + " ";
            EXPECT_TRUE(exchange.responded());
            response.add("X-Mark", response.keep(name_));
        }

      private:
        SiteLoopTest* test_;
        std::string name_;
    };

    core::Ref<RecordedExchange> request() {
        return core::make_ref<RecordedExchange>(world_.loop(), "GET", "/");
    }

    testing::FakeWorld world_;
    std::string steps_;
    Answering handler_{*this};
    SiteLoop site_{handler_};
    Rule first_{*this, "first"};
    Rule second_{*this, "second"};
    Mark one_{*this, "one"};
    Mark two_{*this, "two"};
};

TEST_F(SiteLoopTest, WithoutRulesAndFiltersTheHandlerAnswers) {
    const auto exchange = request();
    site_.serve(*exchange);
    EXPECT_EQ(steps_, "handler ");
    EXPECT_EQ(exchange->status(), 200);
    EXPECT_FALSE(site_.logs());
}

TEST_F(SiteLoopTest, TheStagesRunInTheirOrderAndTheFiltersOnce) {
    site_.add(first_);
    site_.add(second_);
    site_.add(one_);
    site_.add(two_);
    const auto exchange = request();
    site_.serve(*exchange);
    EXPECT_EQ(steps_, "first second handler one two ");
    EXPECT_EQ(exchange->count("X-Mark"), 2U);
}

TEST_F(SiteLoopTest, ARuleThatAnsweredKeepsTheHandlerOutAndTheFiltersIn) {
    first_.verdict = AccessRule::Verdict::answered;
    site_.add(first_);
    site_.add(second_);
    site_.add(one_);
    const auto exchange = request();
    site_.serve(*exchange);
    EXPECT_EQ(steps_, "first one ");
    EXPECT_EQ(exchange->status(), 403);
    EXPECT_EQ(exchange->header("X-Mark"), "one");
}

TEST_F(SiteLoopTest, ADeferringRuleContinuesWithTheNextRule) {
    first_.verdict = AccessRule::Verdict::later;
    site_.add(first_);
    site_.add(second_);
    site_.add(one_);
    const auto exchange = request();
    site_.serve(*exchange);
    EXPECT_EQ(steps_, "first ");
    EXPECT_FALSE(exchange->responded());
    site_.resume(*std::exchange(first_.kept, {}));
    EXPECT_EQ(steps_, "first second handler one ");
    EXPECT_EQ(exchange->status(), 200);
}

TEST_F(SiteLoopTest, TwoRulesMaySayLaterOneAfterTheOther) {
    first_.verdict = second_.verdict = AccessRule::Verdict::later;
    site_.add(first_);
    site_.add(second_);
    const auto exchange = request();
    site_.serve(*exchange);
    site_.resume(*std::exchange(first_.kept, {}));
    EXPECT_EQ(steps_, "first second ");
    site_.resume(*std::exchange(second_.kept, {}));
    EXPECT_EQ(steps_, "first second handler ");
}

TEST_F(SiteLoopTest, ADeferringRuleMayAnswerItself) {
    first_.verdict = AccessRule::Verdict::later;
    site_.add(first_);
    site_.add(one_);
    const auto exchange = request();
    site_.serve(*exchange);
    std::exchange(first_.kept, {})->respond_status(401);
    EXPECT_EQ(steps_, "first one ");
    EXPECT_EQ(exchange->status(), 401);
}

}  // namespace
}  // namespace tiderace::http
