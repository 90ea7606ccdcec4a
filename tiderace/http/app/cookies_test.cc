#include "tiderace/http/app/cookies.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/app/app_fixture.h"

namespace tiderace::http {
namespace {

class CookiesTest : public AppTest {};

TEST_F(CookiesTest, AreFoundByName) {
    app.get<"/c">([](Cookies cookies) {
        std::string all;
        cookies.each([&](std::string_view name, std::string_view value) {
            all += std::string(name) + "=" + std::string(value) + ",";
        });
        return std::string(cookies.get("a").value_or("none")) + "|" + all;
    });
    EXPECT_EQ(body_of(get("/c")), "none|");
    EXPECT_EQ(body_of(ask("GET", "/c", "Cookie: b=1; a=2; a=3\r\n")), "2|b=1,a=2,a=3,");
    EXPECT_EQ(body_of(ask("GET", "/c", "Cookie: b=1\r\nCookie: a=2\r\n")), "2|b=1,a=2,");
    EXPECT_EQ(body_of(ask("GET", "/c", "Cookie: a=1,2; =a; a; A=7; a=\"x y\"\r\n")), "none|A=7,");
}

TEST_F(CookiesTest, OutliveTheReceiveBufferInATask) {
    app.get<"/c">([](Cookies cookies) -> task::Task<std::string> {
        co_await task::sleep(10ms);
        co_return std::string(cookies.get("a").value_or("none"));
    });
    auto first = connect();
    first->say("GET /c HTTP/1.1\r\nHost: a\r\nCookie: a=first\r\nConnection: close\r\n\r\n");
    world.settle();
    EXPECT_EQ(body_of(ask("GET", "/c", "Cookie: a=other\r\n")), "other");
    ASSERT_TRUE(world.run_until([&] { return first->over(); }));
    EXPECT_EQ(body_of(first->heard()), "first");
}

TEST_F(CookiesTest, AResponseSetsThem) {
    app.get<"/set">([] {
        return Response()
            .cookie({.name = "id", .value = "7", .max_age = 1h})
            .cookie({.name = "gone", .value = "", .max_age = 0s, .http_only = false})
            .text("set");
    });
    app.get<"/bad">([] {
        return Response()
            .cookie({.name = "a", .value = "x\r\nSet-Cookie: b=1"})
            .cookie({.name = "__Host-a", .value = "x", .secure = false})
            .text("none");
    });
    const std::string answer = get("/set");
    EXPECT_NE(
        answer.find("Set-Cookie: id=7; Path=/; Max-Age=3600; Secure; HttpOnly; SameSite=Lax\r\n"
                    "Set-Cookie: gone=; Path=/; Max-Age=0; Secure; SameSite=Lax\r\n"),
        std::string::npos)
        << answer;
    EXPECT_EQ(get("/bad").find("Set-Cookie"), std::string::npos);
    EXPECT_EQ(status_of(get("/bad")), "200");
}

}  // namespace
}  // namespace tiderace::http
