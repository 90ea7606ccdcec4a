#include "tiderace/http/filter/added_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http::filter {
namespace {

TEST(AddedFields, ReplaceWhatTheHandlerSet) {
    auto loop = std::move(*core::EventLoop::create({}));
    testing::RecordedExchange exchange(*loop, "GET", "/");
    AddedFields filter({{"cache-control", "no-store"}, {"X-One", "1"}, {"Vary", "Cookie"}});
    Response response;
    response.add(wire::FieldName::cache_control, "max-age=5");
    response.add("x-one", "0");
    response.add(wire::FieldName::vary, "Accept");
    filter.filter(exchange, response);
    exchange.respond(response);
    EXPECT_EQ(exchange.header("Cache-Control"), "no-store");
    EXPECT_EQ(exchange.count("Cache-Control"), 1U);
    EXPECT_EQ(exchange.header("X-One"), "1");
    EXPECT_EQ(exchange.count("X-One"), 1U);
    EXPECT_EQ(exchange.count("Vary"), 2U);
}

}  // namespace
}  // namespace tiderace::http::filter
