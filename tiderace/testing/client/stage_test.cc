#include "tiderace/testing/client/stage.h"

#include <gtest/gtest.h>

namespace tiderace::testing {
namespace {

TEST(ClientStage, AHeadSaysAFieldOnceUnlessTheTestSaysItTwice) {
    http::App app;
    ClientStage stage(app, {.host = "a.example"});
    EXPECT_EQ(stage.head("GET", "/x?y", "", "", {}),
              "GET /x?y HTTP/1.1\r\nHost: a.example\r\n\r\n");
    EXPECT_EQ(stage.head("PUT", "/", "a/b", "Content-Length: 1\r\n", {{"host", "b"}}),
              "PUT / HTTP/1.1\r\nContent-Type: a/b\r\nhost: b\r\nContent-Length: 1\r\n\r\n");
    stage.standing().set("X-A", "0");
    EXPECT_EQ(stage.head("GET", "/", "", "", {{"X-A", "1"}, {"X-A", "2"}}),
              "GET / HTTP/1.1\r\nHost: a.example\r\nX-A: 1\r\nX-A: 2\r\n\r\n");
}

TEST(ClientStage, AnExchangeTakesNoMoreThanRequested) {
    http::App app;
    app.get<"/">([] { return std::string(100'000, 'x'); });
    ClientStage stage(app, {});
    const auto exchange = stage.connect();
    exchange->begin(false);
    exchange->say(stage.head("GET", "/", "", "", {}));
    stage.wait([&] {
        exchange->look(10'000);
        return exchange->body().size() >= 10'000;
    });
    EXPECT_GE(exchange->body().size(), 10'000U);
    EXPECT_FALSE(exchange->reusable());
    stage.wait([&] {
        exchange->look(200'000);
        return exchange->over();
    });
    EXPECT_EQ(exchange->body().size(), 100'000U);
    EXPECT_TRUE(exchange->reusable());
}

}  // namespace
}  // namespace tiderace::testing
