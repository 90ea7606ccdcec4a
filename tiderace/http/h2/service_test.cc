#include "tiderace/http/h2/service.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "tiderace/testing/h2_fixture.h"
#include "tiderace/testing/pipe_transport.h"

namespace tiderace::http {
namespace {

class Service : public testing::H2Test {
  protected:
    void expect_spare(const H2Exchange* expected) {
        // It takes the place in memory of one that was freed.
        const auto made = core::make_ref<H2Exchange>(stage_->service());
        auto spare = stage_->service().take_exchange();
        EXPECT_EQ(spare.get(), expected);
        stage_->service().give_back(std::move(spare));
    }
};

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
    std::set<H2Exchange*> all;
    for (const auto& each : taken) all.insert(each.get());
    for (auto& each : taken) stage_->service().give_back(std::move(each));
    std::set<H2Exchange*> spares;
    for (std::size_t i = 0; i < H2Service::spare_exchanges_max; ++i) {
        taken[i] = stage_->service().take_exchange();
        spares.insert(taken[i].get());
    }
    EXPECT_EQ(spares.size(), H2Service::spare_exchanges_max);
    // These take the places in memory of the exchanges that were not kept.
    for (std::size_t i = 0; i < 5; ++i) {
        taken.push_back(core::make_ref<H2Exchange>(stage_->service()));
    }
    EXPECT_FALSE(all.contains(stage_->service().take_exchange().get()));
}

TEST_P(Service, NamesItselfWhereItIsNamed) {
    for (const char* name : {"", "tiderace"}) {
        H2Options options = testing::H2Stage::plain();
        options.server_name = name;
        start(options);
        testing::H2Client& client = connect();
        const auto stream = client.get("/hello");
        ASSERT_TRUE(ended(stream));
        EXPECT_EQ(client.answer(stream).header("server"), name);
        EXPECT_EQ(stage_->counters().connections, 1U);
    }
}

TEST_P(Service, EndsItsTunnels) {
    struct Closed final : net::Session {
        std::size_t on_data(net::Connection&, ByteView data) override { return data.size(); }
        void on_close(net::Connection&, net::CloseReason why) override { reason = why; }
        std::optional<net::CloseReason> reason;
    } session;
    auto service = std::make_unique<H2Service>(world_->loop(), stage_->stage().site(),
                                               testing::H2Stage::plain());
    testing::Pipe pipe = testing::make_pipe(world_->loop());
    service->make_tunnel(std::move(pipe.near), core::Address::loopback(1)).start(session);
    world_->settle();
    EXPECT_FALSE(session.reason);
    service.reset();
    EXPECT_EQ(session.reason, net::CloseReason::server_stopped);
}

TEST_P(Service, RendersTheStandingFieldsOnceASecond) {
    const std::string first(stage_->service().standing_fields());
    EXPECT_EQ(stage_->service().standing_fields(), first);
    world_->advance(2s);
    EXPECT_NE(stage_->service().standing_fields(), first);
    EXPECT_EQ(stage_->service().standing_fields().size(), first.size());
}

TEST_P(Service, AnswersOneRequestAfterTheOtherFromOneExchange) {
    testing::H2Client& client = connect();
    ASSERT_TRUE(ended(client.get("/hello")));
    auto spare = stage_->service().take_exchange();
    H2Exchange* const address = spare.get();
    stage_->service().give_back(std::move(spare));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(ended(client.get("/hello")));
    expect_spare(address);
    ASSERT_TRUE(reset(client.get("/hello", {{"X-Upper", "1"}})));  // malformed, without a stream
    expect_spare(address);
}

}  // namespace
}  // namespace tiderace::http
