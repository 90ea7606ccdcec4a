#include "tiderace/http/h2/service.h"

#include <gtest/gtest.h>

#include <set>

#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

class Service : public testing::H2Test {};

INSTANTIATE_TEST_SUITE_P(Worlds, Service, ::testing::Values("fake"));

TEST_P(Service, KeepsAnExchangeForTheNextRequest) {
    auto exchange = stage_->service().take_exchange();
    H2Exchange* const address = exchange.get();
    stage_->service().give_back(std::move(exchange));
    EXPECT_EQ(stage_->service().take_exchange().get(), address);
}

TEST_P(Service, LeavesAHeldExchangeToItsHolder) {
    auto exchange = stage_->service().take_exchange();
    const auto held = exchange;
    stage_->service().give_back(std::move(exchange));
    EXPECT_TRUE(held.only_owner());
    EXPECT_NE(stage_->service().take_exchange().get(), held.get());
}

TEST_P(Service, KeepsNoMoreThanItsMaximum) {
    std::vector<core::Ref<H2Exchange>> taken;
    for (std::size_t i = 0; i < H2Service::spare_exchanges_max + 5; ++i) {
        taken.push_back(stage_->service().take_exchange());
    }
    std::vector<core::Ref<H2Exchange>> witnesses(taken);
    witnesses.clear();
    for (auto& each : taken) stage_->service().give_back(std::move(each));
    std::set<H2Exchange*> spares;
    for (std::size_t i = 0; i < H2Service::spare_exchanges_max; ++i) {
        taken[i] = stage_->service().take_exchange();
        spares.insert(taken[i].get());
    }
    EXPECT_EQ(spares.size(), H2Service::spare_exchanges_max);
}

TEST_P(Service, RendersTheStandingFieldsOnceASecond) {
    const std::string first(stage_->service().standing_fields());
    EXPECT_EQ(stage_->service().standing_fields(), first);
    world_->advance(2s);
    EXPECT_NE(stage_->service().standing_fields(), first);
}

TEST_P(Service, AnswersOneRequestAfterTheOtherFromOneExchange) {
    testing::H2Client& client = connect();
    ASSERT_TRUE(ended(client.get("/hello")));
    auto spare = stage_->service().take_exchange();
    H2Exchange* const address = spare.get();
    stage_->service().give_back(std::move(spare));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(ended(client.get("/hello")));
    EXPECT_EQ(stage_->service().take_exchange().get(), address);
}

}  // namespace
}  // namespace tiderace::http
