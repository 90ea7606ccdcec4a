// Health and readiness, and what an App's end does to them.
#include "tiderace/http/app/life/ready_rule.h"

#include <memory>
#include <stdexcept>
#include <utility>

#include "tiderace/http/app/app_fixture.h"

namespace tiderace::http {
namespace {

using ReadyTest = AppTest;

struct Database {
    bool up = true;
    Duration takes = 1s;
};

TEST_F(ReadyTest, HealthIs200AndNeverCached) {
    app.health("/healthz");
    EXPECT_EQ(get("/healthz"),
              "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n"
              "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\nConnection: "
              "close\r\n\r\nok\n");
}

// Sessions and users may be in a database that is away: that is no reason to end the process.
TEST_F(ReadyTest, HealthAsksNoMiddleware) {
    int asked = 0;
    const auto fails = [&](const Request&) -> std::optional<Problem> {
        ++asked;
        return Problem{.status = 503};
    };
    app.use(fails).health("/healthz").ready("/readyz").get<"/page">([] { return "page"; });
    app.use(
        [](const Request&, Response& response) { response.set_header("X-Frame-Options", "DENY"); });
    App shop;
    shop.use(fails).health("/healthz");
    app.mount("/shop", std::move(shop));
    EXPECT_EQ(status_of(get("/healthz")), "200");
    EXPECT_NE(get("/healthz").find("X-Frame-Options: DENY\r\n"), std::string::npos);
    EXPECT_EQ(asked, 0);
    EXPECT_EQ(status_of(get("/readyz")), "503");
    EXPECT_EQ(status_of(get("/page")), "503");
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(status_of(get("/shop/healthz")), "200");
    EXPECT_EQ(asked, 2);
}

TEST_F(ReadyTest, ReadinessEndsWithTheBeginningOfDrainingAndHealthDoesNot) {
    app.health("/healthz").ready("/readyz");
    EXPECT_EQ(body_of(get("/readyz")), "ready\n");
    EXPECT_NE(get("/readyz").find("Cache-Control: no-store\r\n"), std::string::npos);
    app.drain();
    EXPECT_EQ(status_of(get("/readyz")), "503");
    EXPECT_EQ(status_of(get("/healthz")), "200");
}

TEST_F(ReadyTest, OfAMountedAppEndsWithTheAppThatServes) {
    App shop;
    shop.ready("/readyz");
    app.mount("/shop", std::move(shop));
    EXPECT_EQ(status_of(get("/shop/readyz")), "200");
    app.drain();
    EXPECT_EQ(status_of(get("/shop/readyz")), "503");
}

TEST_F(ReadyTest, AHandlerMayDrain) {
    app.ready("/readyz").post<"/end">([this] { app.drain(); });
    EXPECT_EQ(status_of(ask("POST", "/end")), "204");
    EXPECT_EQ(status_of(get("/readyz")), "503");
}

TEST_F(ReadyTest, ACheckIsAskedEachTimeWithTheStatesItTakes) {
    app.state<Database>([](core::EventLoop&) { return std::make_unique<Database>(); });
    app.post<"/down">([](Database& database) { database.up = false; });
    app.ready("/readyz", [](const Database& database) { return database.up; });
    EXPECT_EQ(status_of(get("/readyz")), "200");
    ask("POST", "/down");
    EXPECT_EQ(status_of(get("/readyz")), "503");
}

TEST_F(ReadyTest, ACheckMayBeATaskAndHasADeadline) {
    app.state<Database>([](core::EventLoop&) { return std::make_unique<Database>(); });
    app.post<"/slow">([](Database& database) { database.takes = 1h; });
    app.post<"/down">([](Database& database) { database.up = false; });
    app.ready(
        "/readyz",
        [](Database& database) -> task::Task<bool> {
            co_await task::sleep(database.takes);
            co_return database.up;
        },
        2s);
    EXPECT_EQ(status_of(get("/readyz")), "200");
    ask("POST", "/down");
    EXPECT_EQ(status_of(get("/readyz")), "503");
    ask("POST", "/slow");
    const Instant before = world.clock().now();
    EXPECT_EQ(status_of(get("/readyz")), "503");
    EXPECT_LT(world.clock().now() - before, 3s);
    EXPECT_EQ(runner().spawned(), 0u);
}

TEST_F(ReadyTest, ACheckThatThrowsIs500) {
    app.ready("/readyz", []() -> bool { throw std::runtime_error("no disk"); });
    EXPECT_EQ(status_of(get("/readyz")), "500");
}

}  // namespace
}  // namespace tiderace::http
