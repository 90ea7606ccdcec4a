#include "tiderace/http/filter/bearer_auth.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/filter/filter_fixture.h"

namespace tiderace::http::filter {
namespace {

class BearerAuthTest : public FilterTest {};

TEST_F(BearerAuthTest, LetsKnownTokensIn) {
    EXPECT_EQ(bearer_token("Bearer azAZ09-._~+/=="), "azAZ09-._~+/==");
    BearerAuth rule({.verify = [](ByteView token) { return token == "abc-1.~+/=="; }});
    EXPECT_EQ(ask(rule, "GET", {{"Authorization", "Bearer abc-1.~+/=="}}).status(), 200);
    EXPECT_EQ(ask(rule, "GET", {{"Authorization", "bearer  abc-1.~+/=="}}).status(), 200);
    auto& nothing = ask(rule, "GET");
    EXPECT_EQ(nothing.status(), 401);
    EXPECT_EQ(nothing.header("WWW-Authenticate"), "Bearer realm=\"restricted\"");
    auto& wrong = ask(rule, "GET", {{"Authorization", "Bearer abc"}});
    EXPECT_EQ(wrong.status(), 401);
    EXPECT_EQ(wrong.header("WWW-Authenticate"),
              "Bearer realm=\"restricted\", error=\"invalid_token\"");
}

TEST_F(BearerAuthTest, WhatIsNoTokenIsNotVerified) {
    BearerAuth rule({.verify = [](ByteView) { return true; }});
    for (const char* bad : {"Bearer", "Bearer ", "Bearer =", "Bearer a b", "Bearer a=b",
                            "Basic abc", "Bearera", "Bearer \"a\""}) {
        EXPECT_EQ(ask(rule, "GET", {{"Authorization", bad}}).status(), 401) << bad;
    }
    const std::string longest(BearerAuth::token_bytes_max, 'x');
    EXPECT_EQ(bearer_token("Bearer " + longest).size(), longest.size());
    EXPECT_EQ(bearer_token("Bearer x" + longest), "");
}

}  // namespace
}  // namespace tiderace::http::filter
