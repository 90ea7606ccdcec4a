#include "tiderace/http/body_receiver.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http {
namespace {

TEST(BodyReceiver, NeedNotKnowOfTrailersAndEndsWithItsBody) {
    struct Plain final : BodyReceiver {
        explicit Plain(std::string* t) : told(t) {}
        ~Plain() override { *told += '~'; }
        void on_body(Exchange&, ByteView bytes) override { *told += bytes; }
        void on_body_end(Exchange& exchange) override {
            *told += '.';
            exchange.respond_status(204);
        }
        void on_body_failed(Exchange&) override { *told += '!'; }
        std::string* told;
    };
    testing::FakeWorld world;
    auto exchange = core::make_ref<testing::RecordedExchange>(world.loop(), "POST", "/");
    std::string told;
    exchange->receive_body(std::make_unique<Plain>(&told), 100);
    EXPECT_TRUE(exchange->give("abc"));
    exchange->give_trailer("x-sum", "1");
    exchange->end_body();
    EXPECT_EQ(told, "abc.~");
    EXPECT_EQ(exchange->status(), 204);
}

// Then no code is left that could answer.
TEST(BodyReceiver, OneWithdrawnInsideItsCallLeavesA500) {
    struct Leaving final : BodyReceiver {
        Leaving(bool early, bool* d) : at_once(early), destroyed(d) {}
        ~Leaving() override { *destroyed = true; }
        void on_body(Exchange& exchange, ByteView) override {
            bool* const is_destroyed = destroyed;
            if (at_once) exchange.withdraw_body();
            EXPECT_FALSE(*is_destroyed) << "its call is on the stack";
        }
        void on_trailer(Exchange& exchange, ByteView, ByteView) override {
            exchange.withdraw_body();
        }
        void on_body_end(Exchange& exchange) override { exchange.respond_status(204); }
        void on_body_failed(Exchange&) override {}
        bool at_once;
        bool* destroyed;
    };
    testing::FakeWorld world;
    for (const bool at_once : {true, false}) {
        auto exchange = core::make_ref<testing::RecordedExchange>(world.loop(), "POST", "/");
        bool destroyed = false;
        exchange->receive_body(std::make_unique<Leaving>(at_once, &destroyed), 100);
        EXPECT_EQ(exchange->give("abc"), !at_once);
        if (!at_once) exchange->give_trailer("x-sum", "1");
        EXPECT_EQ(exchange->status(), 500) << at_once;
        EXPECT_TRUE(destroyed);
    }
}

TEST(BodyReceiver, ASecondOneIsDestroyedAndTheFirstGetsTheBody) {
    struct Named final : BodyReceiver {
        Named(char n, std::string* t) : name(n), told(t) {}
        ~Named() override { (*told += '~') += name; }
        void on_body(Exchange&, ByteView bytes) override { (*told += name) += bytes; }
        void on_body_end(Exchange& exchange) override { exchange.respond_status(204); }
        void on_body_failed(Exchange&) override { *told += '!'; }
        char name;
        std::string* told;
    };
    testing::FakeWorld world;
    auto exchange = core::make_ref<testing::RecordedExchange>(world.loop(), "POST", "/");
    std::string told;
    exchange->receive_body(std::make_unique<Named>('1', &told), 100);
    exchange->receive_body(std::make_unique<Named>('2', &told), 100);
    EXPECT_EQ(told, "~2");
    EXPECT_TRUE(exchange->give("abc"));
    exchange->end_body();
    EXPECT_EQ(told, "~21abc~1");
    EXPECT_EQ(exchange->status(), 204);
}

}  // namespace
}  // namespace tiderace::http
