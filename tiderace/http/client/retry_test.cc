#include "tiderace/http/client/retry.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/http/client/client_fixture.h"

namespace tiderace::http {
namespace {

constexpr UnixSeconds now = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT

TEST(RetryAfter, IsSecondsOrADate) {
    EXPECT_EQ(read_retry_after("0", now), 0s);
    EXPECT_EQ(read_retry_after("120", now), 120s);
    EXPECT_EQ(read_retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), 60s);
    EXPECT_EQ(read_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now), 0s) << "it is over";
    EXPECT_GT(read_retry_after("99999999999999999999999999999", now), 24h * 365);
    EXPECT_GT(read_retry_after("Fri, 31 Dec 9999 23:59:59 GMT", now), 24h * 365);
    for (const char* bad : {"", "-1", "1.5", " 1", "soon", "1s", "Sun, 06 Nov 1994"}) {
        EXPECT_EQ(read_retry_after(bad, now), std::nullopt) << bad;
    }
}

TEST(RetryBudget, IsAShareOfTheRequests) {
    RetryBudget budget({.budget_percent = 50, .budget_max = 1});
    EXPECT_TRUE(budget.take()) << "saved up at the start";
    EXPECT_FALSE(budget.take());
    budget.on_request();
    EXPECT_FALSE(budget.take());
    budget.on_request();
    EXPECT_TRUE(budget.take());
    for (int i = 0; i < 100; ++i) budget.on_request();
    EXPECT_TRUE(budget.take());
    EXPECT_FALSE(budget.take()) << "no more than budget_max is saved up";
    EXPECT_EQ(budget.counters().retries, 3U);
    EXPECT_EQ(budget.counters().exhausted, 3U);
    RetryBudget none({.budget_percent = 0, .budget_max = 0});
    none.on_request();
    EXPECT_FALSE(none.take());
}

class ClientRetryTest : public ClientTest {
  protected:
    static std::string answer(int status, std::string_view fields = {}) {
        return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: 1\r\n" +
               std::string(fields) + "\r\nx";
    }
};

TEST_F(ClientRetryTest, ARequestIsSentAgainOnlyIfTheClientMay) {
    ClientTestServer server(world);
    server.say_each({answer(503), ok("hello")});
    EXPECT_EQ(get(server.url), "503 x");
    EXPECT_EQ(server.requests.size(), 1U);
}

TEST_F(ClientRetryTest, AStatusThatAsksForPatienceIsTriedAgain) {
    for (const int status : {429, 502, 503, 504}) {
        ClientTestServer server(world);
        server.say_each({answer(status), answer(status), ok("hello")});
        make({.retry = {.attempts_max = 3}});
        EXPECT_EQ(ask(ClientRequest("PUT", server.url).content("body").header("X-A", "1")),
                  "200 hello");
        ASSERT_EQ(server.requests.size(), 3U) << status;
        EXPECT_EQ(server.requests[0], server.requests[2]);
        EXPECT_TRUE(server.requests[2].ends_with("\r\n\r\nbody"));
        EXPECT_EQ(client->retries().retries, 2U);
        EXPECT_EQ(server.opened(), 1) << "an answer that is not wanted gives its connection back";
    }
    for (const int status : {400, 500, 501}) {
        ClientTestServer server(world);
        server.say(answer(status));
        make({.retry = {.attempts_max = 3}});
        EXPECT_EQ(get(server.url), std::to_string(status) + " x");
        EXPECT_EQ(server.requests.size(), 1U) << status;
    }
}

TEST_F(ClientRetryTest, TheLastAnswerIsTheCallers) {
    ClientTestServer server(world);
    server.say(answer(503));
    make({.retry = {.attempts_max = 4}});
    EXPECT_EQ(get(server.url), "503 x");
    EXPECT_EQ(server.requests.size(), 4U);
}

TEST_F(ClientRetryTest, WhatMayNotBeDoneTwiceIsNot) {
    ClientTestServer server(world);
    server.say(answer(503));
    make({.retry = {.attempts_max = 3}});
    EXPECT_EQ(ask(ClientRequest("POST", server.url).content("body")), "503 x");
    EXPECT_EQ(server.requests.size(), 1U);
    const auto rows = []() -> task::Generator<std::string> { co_yield "row"; };
    EXPECT_EQ(ask(ClientRequest("PUT", server.url).stream("text/csv", rows(), 3)), "503 x");
    EXPECT_EQ(server.requests.size(), 2U) << "a generator has given its pieces away";
}

TEST_F(ClientRetryTest, RetryAfterIsHonouredAndBounded) {
    ClientTestServer server(world);
    server.say_each({answer(503, "Retry-After: 20\r\n"), ok("hello")});
    make({.retry = {.attempts_max = 2}});
    Duration before = world.elapsed();
    EXPECT_EQ(get(server.url), "200 hello");
    EXPECT_GE(world.elapsed() - before, 20s);
    // Above what we wait for: the caller decides.
    ClientTestServer patient(world);
    patient.say(answer(503, "Retry-After: 31\r\n"));
    before = world.elapsed();
    EXPECT_EQ(get(patient.url), "503 x");
    EXPECT_EQ(patient.requests.size(), 1U);
    EXPECT_LT(world.elapsed() - before, 20s);
    // A pause that its time-out does not leave room for.
    ClientTestServer late(world);
    late.say(answer(503, "Retry-After: 20\r\n"));
    before = world.elapsed();
    EXPECT_EQ(ask(ClientRequest("GET", late.url).timeout(10s)), "503 x");
    EXPECT_LT(world.elapsed() - before, 10s);
}

TEST_F(ClientRetryTest, AConnectionThatFailsOrBreaksOffIsTriedAgain) {
    ClientTestServer server(world);
    server.answer = [&](net::Connection& connection, const std::string&) {
        if (server.requests.size() == 3) return static_cast<void>(connection.write(ok("hello")));
        // The second one breaks off inside its body, of which the caller has seen nothing.
        if (server.requests.size() == 2) {
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe");
        }
        connection.finish();
    };
    make({.retry = {.attempts_max = 3}});
    EXPECT_EQ(get(server.url), "200 hello");
    EXPECT_EQ(server.requests.size(), 3U);
    EXPECT_TRUE(get("http://127.0.0.1:1/").starts_with("! connect"));
    EXPECT_EQ(client->retries().retries, 4U);
}

// The caller may have used what came.
TEST_F(ClientRetryTest, AStreamThatWasGivenOutIsNeverBegunAgain) {
    ClientTestServer server(world);
    server.answer = [&](net::Connection& connection, const std::string&) {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe");
        connection.finish();
    };
    make({.retry = {.attempts_max = 3}});
    std::string heard;
    run([](Client& asking, std::string url, std::string& text) -> task::Task<> {
        auto stream = co_await asking.open(ClientRequest("GET", url));
        if (!stream) co_return;
        while (true) {
            auto piece = co_await stream->read();
            text += piece ? *piece : "!";
            if (!piece || piece->empty()) break;
        }
    }(*client, server.url, heard));
    EXPECT_EQ(heard, "he!");
    EXPECT_EQ(server.requests.size(), 1U);
}

TEST_F(ClientRetryTest, AllRequestsShareTheBudget) {
    ClientTestServer server(world);
    server.say(answer(503));
    make({.retry = {.attempts_max = 10, .budget_percent = 10, .budget_max = 5}});
    for (int i = 0; i < 20; ++i) EXPECT_EQ(get(server.url), "503 x");
    // 20 requests, the 5 that were saved up, and what 20 requests earn.
    EXPECT_LE(server.requests.size(), 20U + 5U + 2U);
    EXPECT_GE(server.requests.size(), 20U + 5U);
    EXPECT_GE(client->retries().exhausted, 18U);
}

TEST_F(ClientRetryTest, ATaskThatEndsInAPauseTakesItsRequestAlong) {
    ClientTestServer server(world);
    server.say(answer(503, "Retry-After: 20\r\n"));
    make({.retry = {.attempts_max = 2}});
    const auto told = begin(ClientRequest("GET", server.url));
    world.settle();
    runner.cancel_spawned();
    world.advance(60s);
    EXPECT_EQ(*told, "");
    EXPECT_EQ(server.requests.size(), 1U);
}

}  // namespace
}  // namespace tiderace::http
