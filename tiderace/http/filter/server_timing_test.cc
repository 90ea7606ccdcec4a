#include "tiderace/http/filter/server_timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http::filter {
namespace {

using ::testing::MatchesRegex;

class ServerTimingTest : public ::testing::Test {
  protected:
    std::string timing_for(const std::string& network, Response response = Response(200)) {
        ServerTiming filter({*net::Network::parse("192.0.2.0/24"), *net::Network::parse(network)});
        testing::RecordedExchange exchange(*loop_, "GET", "/");
        filter.filter(exchange, response);
        exchange.respond(response);
        count_ = exchange.count("Server-Timing");
        return exchange.header("Server-Timing");
    }

    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    std::size_t count_ = 0;
};

TEST_F(ServerTimingTest, OnlyWhoIsListedIsTold) {
    EXPECT_THAT(timing_for("::"), MatchesRegex("total;dur=[0-9]+\\.[0-9][0-9][0-9]"));
    EXPECT_EQ(timing_for("10.0.0.0/8"), "");
    EXPECT_EQ(count_, 0U);
}

TEST_F(ServerTimingTest, WhatAProgramMeasuredStays) {
    Response measured(200);
    measured.add("Server-Timing", "db;dur=1");
    EXPECT_EQ(timing_for("::", std::move(measured)), "db;dur=1");
    EXPECT_EQ(count_, 2U);
}

}  // namespace
}  // namespace tiderace::http::filter
