#include "tiderace/http/attachment.h"

#include <gtest/gtest.h>

#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http {
namespace {

TEST(Attachment, IsFoundByItsKey) {
    testing::FakeWorld world;
    const auto exchange = core::make_ref<testing::RecordedExchange>(world.loop(), "GET", "/");
    const int one = 1, two = 2, three = 3;
    const auto first = core::make_ref<Attachment>(&one);
    const auto second = core::make_ref<Attachment>(&two);
    EXPECT_EQ(exchange->attached(&one), nullptr);
    exchange->attach(first);
    exchange->attach(second);
    EXPECT_EQ(exchange->attached(&one), first.get());
    EXPECT_EQ(exchange->attached(&two), second.get());
    EXPECT_EQ(exchange->attached(&three), nullptr);
}

}  // namespace
}  // namespace tiderace::http
