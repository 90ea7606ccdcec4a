#include "tiderace/testing/client.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/task/offload.h"
#include "tiderace/task/sleep.h"

namespace tiderace::testing {
namespace {

using http::App;
using http::Body;
using http::Json;
using http::Request;
using http::Response;
using task::Task;

struct User {
    std::uint64_t id;
    std::string name;
};

std::string field_of(const Request& request, std::string_view name) {
    std::string all;
    for (const auto& field : request.head->fields()) {
        if (field.name == name) all += (all.empty() ? "" : "|") + std::string(field.value);
    }
    return all;
}

TEST(Client, AnswersAreReadWhole) {
    App app;
    app.get<"/">([] { return "hello\n"; })
        .get<"/users/{id}">([](std::uint64_t id) { return User{id, "ann"}; })
        .get<"/large">([] { return std::string(3'000'000, 'x'); });
    Client client(app);
    const ClientResponse answer = client.get("/");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.text(), "hello\n");
    EXPECT_EQ(answer.header("content-type"), "text/plain; charset=utf-8");
    EXPECT_EQ(answer.fault, "");
    EXPECT_EQ(client.get("/users/7").json<User>().name, "ann");
    EXPECT_EQ(client.get("/users/x").status, 400);
    EXPECT_EQ(client.get("/nothing").status, 404);
    EXPECT_EQ(client.get("/large").text(), std::string(3'000'000, 'x'));
    EXPECT_EQ(client.head("/").text(), "");
    EXPECT_EQ(client.head("/").header("Content-Length"), "6");
    EXPECT_EQ(client.del("/").header("Allow"), "GET, HEAD, OPTIONS");
}

TEST(Client, BodiesAndFieldsAreSent) {
    App app;
    app.any<"/echo">([](const Request& request, Body body) {
        return std::string(request.head->method_text()) + " " + field_of(request, "Content-Type") +
               " " + field_of(request, "X-A") + " " + std::move(body).text();
    });
    app.post<"/users">([](Json<User> user) { return Response(201).text(user->name); });
    Client client(app);
    EXPECT_EQ(client.post("/echo", "text").text(), "POST text/plain; charset=utf-8  text");
    EXPECT_EQ(client.put("/echo", form({{"a", "1 2"}})).text(),
              "PUT application/x-www-form-urlencoded  a=1+2");
    EXPECT_EQ(client.patch("/echo", Content("a/b", "c")).text(), "PATCH a/b  c");
    EXPECT_EQ(client.del("/echo", {{"X-A", "1"}}).text(), "DELETE  1 ");
    EXPECT_EQ(client.request("BREW", "/echo", "x", {{"X-A", "1"}, {"X-A", "2"}}).text(),
              "BREW text/plain; charset=utf-8 1|2 x");
    EXPECT_EQ(client.post("/users", User{7, "bob"}).text(), "bob");
    EXPECT_EQ(client.post("/users", "{}").status, 415);
    client.set_header("X-A", "standing");
    EXPECT_EQ(client.get("/echo").text(), "GET  standing ");
    EXPECT_EQ(client.get("/echo", {{"X-A", "own"}}).text(), "GET  own ");
}

TEST(Client, CookiesAreKeptAndExpireByTheClock) {
    App app;
    app.get<"/in">([] {
        return Response(204)
            .header("Set-Cookie", "s=1; Secure; HttpOnly; Max-Age=60")
            .header("Set-Cookie", "t=2; Path=/deep");
    });
    app.get<"/seen">([](const Request& request) { return field_of(request, "Cookie"); });
    app.get<"/deep/seen">([](const Request& request) { return field_of(request, "Cookie"); });
    Client client(app);
    EXPECT_EQ(client.get("/seen").text(), "");
    client.get("/in");
    EXPECT_EQ(client.get("/seen?x=1").text(), "s=1");
    EXPECT_EQ(client.get("/deep/seen").text(), "t=2; s=1");
    EXPECT_EQ(client.cookies().find("t"), "2");
    client.advance(61s);
    EXPECT_EQ(client.get("/deep/seen").text(), "t=2");
    Client forgetful(app, {.cookies = false});
    forgetful.get("/in");
    EXPECT_EQ(forgetful.get("/seen").text(), "");
}

TEST(Client, TheClockIsTheTests) {
    App app({.handler_timeout = 30s});
    app.get<"/">([] { return "now"; });
    app.get<"/slow/{s}">([](int s) -> Task<std::string> {
        co_await task::sleep(std::chrono::seconds(s));
        co_return "late";
    });
    Client client(app);
    const Instant began = client.now();
    EXPECT_EQ(client.get("/").text(), "now");
    EXPECT_EQ(client.now(), began);
    EXPECT_EQ(client.get("/slow/10").text(), "late");  // time passed, for nothing else could happen
    EXPECT_GE(client.now() - began, 10s);
    EXPECT_EQ(client.get("/slow/31").status, 503);
    client.advance(1h);
    EXPECT_GE(client.now() - began, 1h);
    EXPECT_EQ(client.connections(), 0U);  // idle ones were closed
    EXPECT_EQ(client.get("/").text(), "now");
}

TEST(Client, WorkOfThePoolIsWaitedForWithoutTimePassing) {
    App app({.handler_timeout = 1s});
    app.get<"/">([]() -> Task<std::string> {
        co_return co_await task::offload([] {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            return std::string("worked");
        });
    });
    Client client(app);
    const Instant began = client.now();
    EXPECT_EQ(client.get("/").text(), "worked");
    EXPECT_EQ(client.now(), began);
}

TEST(Client, LimitsAndRefusalsAreTheRealOnes) {
    App app({.body_bytes_max = 10});
    app.post<"/">([](Body body) { return std::move(body).text(); });
    app.get<"/throws">([]() -> std::string { throw std::runtime_error("oh"); });
    Client client(app);
    EXPECT_EQ(client.post("/", "0123456789").status, 200);
    EXPECT_EQ(client.post("/", "0123456789x").status, 413);
    EXPECT_EQ(client.post("/", std::string(1'000'000, 'x')).status, 413);
    EXPECT_EQ(client.get("/throws").status, 500);
    EXPECT_EQ(client.get("/", {{"X-Long", std::string(100'000, 'x')}}).status, 431);
    EXPECT_EQ(client.get("/ x").status, 400);
    EXPECT_EQ(client.raw("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").status, 400);
    EXPECT_EQ(client.raw("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok").text(), "ok");
    EXPECT_EQ(client.raw("GET / HTTP/1.1\r\nHost: a\r\n").status, 408);
    EXPECT_EQ(client.post("/", "still there").status, 413);
}

TEST(Client, NoWholeAnswerSaysWhy) {
    App app({.handler_timeout = Duration::max()});
    app.get<"/never">([]() -> Task<std::string> {
        co_await task::sleep(48h);
        co_return "";
    });
    app.get<"/endless">([]() -> task::Generator<std::string> {
        for (;;) co_yield std::string(10'000, 'x');
    });
    app.get<"/breaks">([]() -> task::Generator<std::string> {
        co_yield "some";
        co_await task::sleep(1s);
        throw std::runtime_error("oh");
    });
    Client client(app, {.patience = 10min, .answer_bytes_max = 1'000'000});
    ClientResponse answer = client.get("/never");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.fault, "no whole answer came within ClientOptions::patience");
    answer = client.get("/endless");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.fault, "the answer is larger than ClientOptions::answer_bytes_max");
    answer = client.get("/breaks");
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.text(), "some");
    EXPECT_EQ(answer.fault, "the connection ended inside an answer");
    EXPECT_EQ(client.get("/nothing").status, 404);
}

TEST(Client, WhatAHandlerThrewIsOnStandardError) {
    App app;
    app.get<"/">([]() -> std::string { throw std::runtime_error("no such table: boat"); });
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(Client(app).get("/").status, 500);
    EXPECT_NE(::testing::internal::GetCapturedStderr().find("no such table: boat"),
              std::string::npos);
    ClientOptions quiet;
    quiet.log = log::Level::off;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(Client(app, quiet).get("/").status, 500);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Client, AConnectionIsKeptAndManyRequestsAreNoSpinning) {
    App app;
    app.get<"/">([] { return "x"; });
    Client client(app);
    for (int i = 0; i < 30'000; ++i) ASSERT_EQ(client.get("/").status, 200);
    EXPECT_EQ(client.connections(), 1U);
}

TEST(Client, AnAppThatCannotServeThrows) {
    App app;
    app.get<"/">([] { return "a"; });
    app.get<"/">([] { return "b"; });
    EXPECT_THROW(Client{app}, std::invalid_argument);
}

}  // namespace
}  // namespace tiderace::testing
