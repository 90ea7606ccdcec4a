#include "tiderace/http/exchange.h"

#include <gtest/gtest.h>

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

TEST_F(ExchangeTest, AnObserverMayDropTheLastRef) {
    core::Ref<Exchange> kept = exchange_->defer();
    RecordedExchange& recorded = *std::exchange(exchange_, {});
    kept->on_abandoned([&] { kept = {}; });
    recorded.hang_up();
    EXPECT_FALSE(kept);
}

}  // namespace
}  // namespace tiderace::http
