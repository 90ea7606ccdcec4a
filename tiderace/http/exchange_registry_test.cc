#include "tiderace/http/exchange_registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "tiderace/http/stages.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h1_stage.h"

namespace tiderace::http {
namespace {

using testing::H1Stage;

class ExchangeRegistryTest : public ::testing::Test {
  protected:
    ExchangeRegistryTest() {
        stage_.add_usual_paths();
        stage_.on("/job", [this](Exchange& exchange) { handles_.push_back(exchange.handle()); });
    }
    void ask(testing::Peer& peer) {
        const std::size_t before = handles_.size();
        peer.say("GET /job HTTP/1.1\r\nHost: a\r\n\r\n");
        ASSERT_TRUE(stage_.run_until([&] { return handles_.size() > before; }));
    }
    std::uint64_t missed() { return stage_.site().registry(world_.loop())->missed(); }

    testing::FakeWorld world_;
    H1Stage stage_{world_};
    std::vector<ExchangeHandle> handles_;
};

TEST_F(ExchangeRegistryTest, AThreadsResultComesBackAsTheAnswer) {
    const auto peer = stage_.connect();
    ask(*peer);
    std::thread worker([handle = handles_[0]] {
        int result = 6;
        result *= 7;
        EXPECT_TRUE(handle.post([result](Exchange& exchange) {
            Response response;
            response.set_body(std::to_string(result));
            exchange.respond(response);
        }));
    });
    worker.join();
    ASSERT_TRUE(stage_.run_until([&] { return peer->heard().ends_with("42"); }));
    EXPECT_EQ(missed(), 0U);
}

TEST_F(ExchangeRegistryTest, WhatComesAfterTheClientWentIsCountedAndNothingElse) {
    const auto peer = stage_.connect();
    ask(*peer);
    peer->reset();
    ASSERT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
    int calls = 0;
    EXPECT_TRUE(handles_[0].post([&](Exchange&) { ++calls; }));
    ASSERT_TRUE(stage_.run_until([&] { return missed() == 1; }));
    EXPECT_EQ(calls, 0);
}

TEST_F(ExchangeRegistryTest, WhatIsGoneOrAnsweredHasNoHandle) {
    core::Ref<Exchange> kept;
    stage_.on("/kept", [&](Exchange& exchange) { kept = exchange.defer(); });
    for (const bool answered : {false, true}) {
        SCOPED_TRACE(answered);
        const auto peer = stage_.connect();
        peer->say("GET /kept HTTP/1.1\r\nHost: a\r\n\r\n");
        ASSERT_TRUE(stage_.run_until([&] { return static_cast<bool>(kept); }));
        if (answered) {
            kept->respond_status(204);
        } else {
            peer->reset();
            ASSERT_TRUE(stage_.run_until([&] { return stage_.server().size() == 0; }));
        }
        world_.settle();
        EXPECT_FALSE(kept->handle().post([](Exchange&) { FAIL(); }));
        world_.settle();
        kept = {};
    }
}

TEST_F(ExchangeRegistryTest, AnAnsweredExchangeThatIsUsedAgainIsAnother) {
    const auto peer = stage_.connect();
    ask(*peer);
    handles_[0].post([](Exchange& exchange) { exchange.respond_status(204); });
    ASSERT_TRUE(stage_.run_until([&] { return peer->heard().ends_with("\r\n\r\n"); }));
    ask(*peer);
    int calls = 0;
    handles_[0].post([&](Exchange&) { ++calls; });
    handles_[1].post([&](Exchange& exchange) { exchange.respond_status(202); });
    ASSERT_TRUE(stage_.run_until([&] { return stage_.logged().size() == 2; }));
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(missed(), 1U);
    EXPECT_EQ(stage_.logged()[1].status, 202);
}

TEST_F(ExchangeRegistryTest, WhatACallThrowsIsAnswered500) {
    const auto peer = stage_.connect();
    ask(*peer);
    handles_[0].post([](Exchange&) { throw std::runtime_error("no result"); });
    ASSERT_TRUE(stage_.run_until([&] { return !stage_.logged().empty(); }));
    EXPECT_EQ(stage_.logged()[0].status, 500);
}

// Posts when it is destroyed.
class LastWish {
  public:
    LastWish(const ExchangeHandle& handle, int& refused) : handle_(handle), refused_(&refused) {}
    LastWish(LastWish&& from) noexcept
        : handle_(from.handle_), refused_(std::exchange(from.refused_, nullptr)) {}
    LastWish& operator=(LastWish&&) = delete;
    ~LastWish() {
        if (refused_ != nullptr && !handle_.post([](Exchange&) {})) ++*refused_;
    }

  private:
    ExchangeHandle handle_;
    int* refused_;
};

TEST_F(ExchangeRegistryTest, ARefusedCallIsDestroyedWithoutTheLock) {
    const auto peer = stage_.connect();
    ask(*peer);
    while (world_.loop().post([] {})) {
    }
    int refused = 0;
    // Hangs if the call's end finds the registry locked.
    EXPECT_FALSE(handles_[0].post([wish = LastWish(handles_[0], refused)](Exchange&) {}));
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(missed(), 2U) << "with the one that it posted at its end";
}

TEST_F(ExchangeRegistryTest, AnExchangeHasOneHandleHoweverOftenItIsTaken) {
    stage_.on("/job", [this](Exchange& exchange) {
        handles_.push_back(exchange.handle());
        handles_.push_back(exchange.handle());
    });
    const auto peer = stage_.connect();
    ask(*peer);
    handles_[0].post([](Exchange& exchange) { exchange.respond_status(204); });
    ASSERT_TRUE(stage_.run_until([&] { return stage_.logged().size() == 1; }));
    for (const ExchangeHandle& each : handles_) {
        EXPECT_TRUE(each.post([](Exchange&) { FAIL() << "it is answered"; }));
    }
    ASSERT_TRUE(stage_.run_until([&] { return missed() == 2; }));
}

TEST_F(ExchangeRegistryTest, AfterItsSiteItIsRefused) {
    ExchangeHandle handle;
    {
        testing::FakeWorld world;
        H1Stage stage(world);
        stage.on("/job", [&](Exchange& exchange) { handle = exchange.handle(); });
        const auto peer = stage.connect();
        peer->say("GET /job HTTP/1.1\r\nHost: a\r\n\r\n");
        ASSERT_TRUE(stage.run_until([&] { return stage.served().size() == 1; }));
        stage.server().abort_all();
        world.settle();
    }
    EXPECT_FALSE(handle.post([](Exchange&) { FAIL(); }));
    EXPECT_FALSE(ExchangeHandle().post([](Exchange&) { FAIL(); }));
}

}  // namespace
}  // namespace tiderace::http
