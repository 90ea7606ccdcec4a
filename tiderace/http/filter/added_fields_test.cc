#include "tiderace/http/filter/added_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http::filter {
namespace {

TEST(AddedFields, AreReadFromTheirText) {
    const auto field = parse_added_field("X-Frame-Options:  DENY ");
    ASSERT_TRUE(field);
    EXPECT_EQ(field->name, "X-Frame-Options");
    EXPECT_EQ(field->value, "DENY");
    EXPECT_TRUE(parse_added_field("X-Empty:"));
    EXPECT_EQ(parse_added_field("Link: <https://a/b>; rel=x")->value, "<https://a/b>; rel=x");
}

TEST(AddedFields, WhatIsNoFieldOrNotTheOperatorsIsRefused) {
    for (const char* text :
         {"", "no colon", ": value", "na me: x", "X: a\r\nSet-Cookie: b", "X: a\nb",
          "Content-Length: 5", "content-length: 5", "Transfer-Encoding: chunked",
          "Connection: close", "Date: now", "Keep-Alive: 5"}) {
        EXPECT_FALSE(parse_added_field(text)) << text;
    }
}

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
