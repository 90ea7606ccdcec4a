#include "tiderace/http/app/app.h"

#include <gtest/gtest.h>

#include <expected>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/task/sleep.h"

namespace tiderace::http {

// An argument that records whether it was evaluated.
struct Looked {
    static inline int count = 0;
};
template <>
struct app_parts::Argument<Looked> {
    static std::optional<Looked> find(Call&) { return ++Looked::count, Looked(); }
    static Looked pass(std::optional<Looked>& found) { return *found; }
};

namespace {

struct User {
    std::uint64_t id;
    std::string name;
};
struct NewUser {
    json::Length<std::string, 1, 10> name;
    json::Range<int, 0, 150> age;

    std::optional<std::string> validate() const {
        if (*name == "root") return "this name is reserved";
        return std::nullopt;
    }
};
enum class Color { red, green };

std::optional<User> find(std::uint64_t id) {
    if (id != 7) return std::nullopt;
    return User{7, "ann"};
}

TEST_F(AppTest, TextIsText) {
    app.get<"/">([] { return "hello\n"; });
    EXPECT_EQ(get("/"),
              "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
              "Content-Length: 6\r\nConnection: close\r\n\r\nhello\n");
    EXPECT_EQ(body_of(ask("HEAD", "/")), "");
    EXPECT_EQ(status_of(get("/nothing")), "404");
}

TEST_F(AppTest, ParametersAreParsedByType) {
    app.get<"/i/{n}">([](int n) { return std::to_string(n); })
        .get<"/u/{n}">([](std::uint8_t n) { return std::to_string(n); })
        .get<"/d/{x}">([](double x) { return std::to_string(x); })
        .get<"/b/{x}">([](bool x) { return x ? "yes" : "no"; })
        .get<"/c/{c}">([](Color c) { return c == Color::red ? "r" : "g"; })
        .get<"/two/{a}/{b}">(
            [](std::string a, std::string_view b) { return a + "," + std::string(b); })
        .get<"/rest/{path...}">([](std::string_view path) { return std::string(path); });
    EXPECT_EQ(body_of(get("/i/-12")), "-12");
    EXPECT_EQ(body_of(get("/u/255")), "255");
    EXPECT_EQ(body_of(get("/d/2.5")), "2.500000");
    EXPECT_EQ(body_of(get("/b/true")), "yes");
    EXPECT_EQ(body_of(get("/c/green")), "g");
    EXPECT_EQ(body_of(get("/two/a%20b/%C3%A9")), "a b,\xC3\xA9");
    EXPECT_EQ(body_of(get("/rest/a/b/c")), "a/b/c");
    for (const char* bad :
         {"/i/x", "/i/1x", "/i/99999999999", "/u/256", "/u/-1", "/d/", "/c/blue", "/d/nan",
          "/d/-nan(1)", "/d/inf", "/d/-Infinity", "/d/1e999", "/d/0x1"}) {
        const std::string answer = get(bad);
        EXPECT_EQ(status_of(answer), std::string_view(bad) == "/d/" ? "404" : "400") << bad;
    }
    EXPECT_EQ(body_of(get("/u/256")),
              R"({"title":"Bad Request","status":400,)"
              R"("detail":"the path has a parameter that cannot be read",)"
              R"("errors":[{"name":"n","detail":"expected a whole number, not negative"}]})");
}

// Evaluating an argument behind a bad one would only write useless log lines.
TEST_F(AppTest, NothingIsLookedForOnceAnArgumentHasAnswered) {
    Looked::count = 0;
    app.get<"/{id}">([](int, Looked) { return "found"; });
    EXPECT_EQ(body_of(get("/7")), "found");
    EXPECT_EQ(Looked::count, 1);
    EXPECT_EQ(status_of(get("/x")), "400");
    EXPECT_EQ(Looked::count, 1);
}

TEST_F(AppTest, WhatAHandlerReturnsBecomesTheAnswer) {
    app.get<"/users/{id}">([](std::uint64_t id) -> std::optional<User> { return find(id); })
        .get<"/list">([] { return std::vector<User>{{1, "a"}, {2, "b"}}; })
        .get<"/map">([] { return std::map<std::string, int>{{"x", 1}}; })
        .get<"/nothing">([] {})
        .get<"/away">([] { return Redirect{"/list"}; })
        .get<"/reply">([] { return Response(201).header("X-A", "1").html("<p>"); })
        .get<"/problem">([] { return Problem{.status = 409, .detail = "taken"}; })
        .get<"/either/{n}">([](int n) -> std::expected<User, Problem> {
            if (n == 0) return std::unexpected(Problem{.status = 403});
            return User{static_cast<std::uint64_t>(n), "x"};
        })
        .get<"/made">([] { return Created<User>{"/users/7", {7, "ann"}}; });
    EXPECT_EQ(body_of(get("/users/7")), R"({"id":7,"name":"ann"})");
    EXPECT_NE(get("/users/7").find("Content-Type: application/json\r\n"), std::string::npos);
    EXPECT_EQ(status_of(get("/users/8")), "404");
    EXPECT_EQ(body_of(get("/list")), R"([{"id":1,"name":"a"},{"id":2,"name":"b"}])");
    EXPECT_EQ(body_of(get("/map")), R"({"x":1})");
    EXPECT_EQ(status_of(get("/nothing")), "204");
    EXPECT_NE(get("/away").find("303 See Other\r\n"), std::string::npos);
    EXPECT_NE(get("/away").find("Location: /list\r\n"), std::string::npos);
    EXPECT_NE(get("/reply").find("X-A: 1\r\n"), std::string::npos);
    EXPECT_EQ(status_of(get("/reply")), "201");
    EXPECT_EQ(body_of(get("/problem")), R"({"title":"Conflict","status":409,"detail":"taken"})");
    EXPECT_EQ(status_of(get("/either/0")), "403");
    EXPECT_EQ(body_of(get("/either/3")), R"({"id":3,"name":"x"})");
    EXPECT_EQ(status_of(get("/made")), "201");
    EXPECT_NE(get("/made").find("Location: /users/7\r\n"), std::string::npos);
}

TEST_F(AppTest, ALocationIsAlwaysOne) {
    app.get<"/redirect">([] { return Redirect{"/a b?c=d e#f\r\nSet-Cookie: x"}; })
        .get<"/made">([] { return Created<User>{"/caf\xC3\xA9", {7, "ann"}}; })
        .get<"/nowhere">([] { return Created<User>{"", {7, "ann"}}; })
        .get<"/reply">([] { return Response(302).header("location", "/%41 b"); });
    EXPECT_NE(get("/redirect").find("Location: /a%20b?c=d%20e#f%0D%0ASet-Cookie:%20x\r\n"),
              std::string::npos);
    EXPECT_NE(get("/made").find("Location: /caf%C3%A9\r\n"), std::string::npos);
    EXPECT_EQ(body_of(get("/made")), R"({"id":7,"name":"ann"})");
    EXPECT_EQ(get("/nowhere").find("Location"), std::string::npos);
    EXPECT_NE(get("/reply").find("Location: /%41%20b\r\n"), std::string::npos);
}

// RFC 9110, 15.3.6.
TEST_F(AppTest, AnAnswer205HasNoContent) {
    app.get<"/reset">([] { return Response(205).text("gone"); });
    EXPECT_EQ(status_of(get("/reset")), "205");
    EXPECT_NE(get("/reset").find("Content-Length: 0\r\n"), std::string::npos);
    EXPECT_EQ(body_of(get("/reset")), "");
}

TEST_F(AppTest, ABodyIsReadWholeAndBounded) {
    app = App({.body_bytes_max = 10});
    app.post<"/echo">([](Body body) { return std::move(body).text(); });
    EXPECT_EQ(body_of(ask("POST", "/echo", "", "0123456789")), "0123456789");
    EXPECT_EQ(status_of(ask("POST", "/echo", "", "0123456789x")), "413");
    EXPECT_EQ(body_of(ask("POST", "/echo", "Content-Length: 0\r\n")), "");
}

TEST_F(AppTest, JsonIsReadAndWhatIsWrongIsNamed) {
    app.post<"/users">([](Json<NewUser> user) -> std::expected<Created<User>, Problem> {
        return Created<User>{"/users/9", {9, *user->name}};
    });
    const char* json = "Content-Type: application/json\r\n";
    EXPECT_EQ(status_of(ask("POST", "/users", json, R"({"name":"bob","age":30})")), "201");
    EXPECT_EQ(status_of(ask("POST", "/users", "Content-Type: Application/JSON ; x=y\r\n",
                            R"({"name":"bob","age":30})")),
              "201");
    EXPECT_EQ(status_of(ask("POST", "/users", json, R"({"name":"bob",)")), "400");
    EXPECT_EQ(status_of(ask("POST", "/users", "", R"({"name":"bob","age":30})")), "415");
    for (const char* const bad : {"text/plain", "application/+json", "text/x+json"}) {
        const std::string type = "Content-Type: " + std::string(bad) + "\r\n";
        EXPECT_EQ(status_of(ask("POST", "/users", type, "{}")), "415") << bad;
    }
    for (const char* const good : {"Application/JSON", "APPLICATION/VND.X+Json;v=1"}) {
        const std::string type = "Content-Type: " + std::string(good) + "\r\n";
        EXPECT_NE(status_of(ask("POST", "/users", type, "{}")), "415") << good;
    }
    const std::string wrong = ask("POST", "/users", json, R"({"name":"","age":200})");
    EXPECT_EQ(status_of(wrong), "422");
    EXPECT_EQ(body_of(wrong),
              R"({"title":"Unprocessable Content","status":422,)"
              R"("detail":"the body is JSON, but not what is expected","errors":[)"
              R"({"name":"name","detail":"expected a text of 1 to 10 characters, found \"\""},)"
              R"({"name":"age","detail":"expected an integer from 0 to 150, found 200"}]})");
}

TEST_F(AppTest, AFaultOfTheWholeBodyHasNoName) {
    app.post<"/users">([](Json<NewUser> user) { return *user->name; });
    const char* json = "Content-Type: application/json\r\n";
    for (const auto& [body, fault] :
         {std::pair{R"({"name" "bob"})", "expected ':' after the member's name (byte 8)"},
          std::pair{R"([])", "expected an object, found an array"},
          std::pair{R"({"name":"root","age":1})", "this name is reserved"}}) {
        EXPECT_TRUE(body_of(ask("POST", "/users", json, body))
                        .ends_with(R"("errors":[{"detail":")" + std::string(fault) + R"("}]})"))
            << ask("POST", "/users", json, body);
    }
}

TEST_F(AppTest, MethodsThatHaveNoRouteAre405WithAllow) {
    app.get<"/a">([] { return "a"; }).post<"/a">([] { return "b"; });
    EXPECT_NE(ask("PUT", "/a").find("Allow: GET, HEAD, POST, OPTIONS\r\n"), std::string::npos);
    EXPECT_EQ(status_of(ask("PUT", "/a")), "405");
    EXPECT_EQ(status_of(ask("OPTIONS", "/a")), "204");
    EXPECT_EQ(status_of(ask("OPTIONS", "*")), "204") << "of the server as a whole";
    EXPECT_EQ(status_of(ask("CONNECT", "a.example:443")), "501") << "an App is no proxy";
}

TEST_F(AppTest, ATaskIsAnsweredWhenItEnds) {
    app.get<"/now">([]() -> task::Task<std::string> { co_return "now"; });
    app.get<"/later/{n}">([](int n) -> task::Task<std::optional<int>> {
        co_await task::sleep(10ms);
        if (n == 0) co_return std::nullopt;
        co_return n;
    });
    app.get<"/void">([]() -> task::Task<> { co_await task::yield(); });
    EXPECT_EQ(body_of(get("/now")), "now");
    EXPECT_EQ(body_of(get("/later/3")), "3");
    EXPECT_EQ(status_of(get("/later/0")), "404");
    EXPECT_EQ(status_of(get("/void")), "204");
}

// The views that a task keeps stay what they were while other requests use the receive buffer.
TEST_F(AppTest, ViewsOfATaskOutliveTheReceiveBuffer) {
    app.get<"/wait/{text}">(
        [](std::string_view text, const Request& request) -> task::Task<std::string> {
            co_await task::sleep(10ms);
            co_return std::string(text) + " " + std::string(request.header(wire::FieldName::host)) +
                " " + std::string(request.path);
        });
    app.post<"/wait/{text}">([](std::string_view text, Body body) -> task::Task<std::string> {
        co_await task::sleep(10ms);
        co_return std::string(text) + " " + std::move(body).text();
    });
    auto first = connect();
    auto second = connect();
    first->say("GET /wait/aaaa HTTP/1.1\r\nHost: one\r\nConnection: close\r\n\r\n");
    world.settle();
    second->say(
        "POST /wait/bbbb HTTP/1.1\r\nHost: two\r\nConnection: close\r\n"
        "Content-Length: 3\r\n\r\nxyz");
    ASSERT_TRUE(world.run_until([&] { return first->over() && second->over(); }));
    EXPECT_EQ(body_of(first->heard()), "aaaa one /wait/aaaa");
    EXPECT_EQ(body_of(second->heard()), "bbbb xyz");
}

// What a database throws while it restarts.
struct Outage : std::runtime_error, TransientError {
    explicit Outage(bool does_pass) : std::runtime_error("secret"), does_pass_(does_pass) {}
    bool is_transient() const noexcept override { return does_pass_; }

  private:
    bool does_pass_;
};

TEST_F(AppTest, AnOutageThatPassesIs503WithATimeToTryAgain) {
    app.error_page([](const ErrorAnswer& error) { return "page of " + error.title; });
    app.get<"/now/{passes}">([](int passes) -> std::string { throw Outage(passes == 1); });
    app.get<"/later/{passes}">([](int passes) -> task::Task<std::string> {
        co_await task::sleep(1ms);
        throw Outage(passes == 1);
    });
    app.group("/rule")
        .use([]() -> task::Task<std::optional<Problem>> {
            co_await task::sleep(1ms);
            throw Outage(true);
        })
        .get<"/x">([] { return "x"; });
    for (const char* path : {"/now/1", "/later/1", "/rule/x"}) {
        const std::string answer = get(path);
        EXPECT_EQ(status_of(answer), "503") << path;
        EXPECT_TRUE(answer.contains("Retry-After: 2\r\n")) << answer;
        EXPECT_EQ(body_of(answer), "page of Service Unavailable") << path;
    }
    for (const char* path : {"/now/0", "/later/0"}) {
        const std::string answer = get(path);
        EXPECT_EQ(status_of(answer), "500") << path;
        EXPECT_FALSE(answer.contains("Retry-After")) << answer;
    }
}

TEST_F(AppTest, WhatAHandlerThrowsIs500AndOthersGoOn) {
    app.get<"/throw">([]() -> std::string { throw std::runtime_error("secret"); });
    app.get<"/throw-later">([]() -> task::Task<std::string> {
        co_await task::sleep(1ms);
        throw std::runtime_error("secret");
    });
    app.get<"/fine">([] { return "fine"; });
    for (const char* path : {"/throw", "/throw-later"}) {
        const std::string answer = get(path);
        EXPECT_EQ(status_of(answer), "500") << path;
        EXPECT_EQ(answer.find("secret"), std::string::npos);
    }
    EXPECT_EQ(body_of(get("/fine")), "fine");
}

TEST_F(AppTest, AClientThatGoesAwayEndsTheTaskAtItsAwait) {
    std::string log;
    app.state<std::string*>([&](core::EventLoop&) { return std::make_unique<std::string*>(&log); });
    struct Note {
        std::string* text;
        ~Note() { *text += 'x'; }
    };
    app.get<"/wait">([&log]() -> task::Task<std::string> {
        const Note note{&log};
        co_await task::sleep(1h);
        log += "never";
        co_return "";
    });
    auto peer = connect();
    peer->say("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    world.settle();
    EXPECT_EQ(log, "");
    peer->reset();
    ASSERT_TRUE(world.run_until([&] { return !log.empty(); }));
    EXPECT_EQ(log, "x");
    world.advance(2h);
    EXPECT_EQ(log, "x");
}

TEST_F(AppTest, AHandlerThatWaitsTooLongIsAnsweredForAndCancelled) {
    app = App({.handler_timeout = 5s});
    static int ended;
    static Duration left;
    ended = 0;
    struct Note {
        ~Note() { ++ended; }
    };
    app.get<"/wait">([](core::EventLoop& loop) -> task::Task<std::string> {
        const Note note;
        left = task::deadline() - loop.now();
        co_await task::sleep(1h);
        co_return "never";
    });
    EXPECT_EQ(status_of(get("/wait")), "503");
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(left, 5s);
    EXPECT_GE(world.elapsed(), 5s);
    EXPECT_LT(world.elapsed(), 7s);
}

// Another handler held the loop up for longer than the limit. This one was ready in time.
TEST_F(AppTest, ABlockedLoopEndsNoHandlerThatIsReady) {
    app = App({.handler_timeout = 5s});
    app.get<"/short">([]() -> task::Task<std::string> {
        co_await task::sleep(1s);
        co_return "done";
    });
    app.get<"/long">([]() -> task::Task<std::string> {
        co_await task::sleep(1h);
        co_return "never";
    });
    auto fast = connect();
    fast->say("GET /short HTTP/1.1\r\nHost: a\r\n\r\n");
    auto slow = connect();
    slow->say("GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
    world.settle();
    world.clock().advance(10s);
    world.settle();
    EXPECT_EQ(status_of(fast->heard()), "200");
    EXPECT_EQ(body_of(fast->heard()), "done");
    EXPECT_EQ(status_of(slow->heard()), "503");
}

TEST_F(AppTest, StatesAreFoundByType) {
    struct Counter {
        int value = 0;
    };
    struct Config {
        std::string name;
    };
    const Config config{"shared"};
    app.state<Counter>([](core::EventLoop&) { return std::make_unique<Counter>(); }).share(config);
    app.get<"/count">([](Counter& counter) { return std::to_string(++counter.value); });
    app.get<"/name">([](const Config& c) { return c.name; });
    app.get<"/missing">([](std::vector<long>& none) { return std::to_string(none.size()); });
    EXPECT_EQ(body_of(get("/count")), "1");
    EXPECT_EQ(body_of(get("/count")), "2");
    EXPECT_EQ(body_of(get("/name")), "shared");
    EXPECT_EQ(status_of(get("/missing")), "500");
}

TEST_F(AppTest, RunTimePatternsAreCheckedWhenTheyAreAdded) {
    app.route(wire::Method::get, "/x/{n}", [](int n) { return std::to_string(n); });
    EXPECT_EQ(app.fault(), "");
    EXPECT_EQ(body_of(get("/x/4")), "4");
    app.route(wire::Method::get, "/y/{n}", [] { return "y"; });
    EXPECT_EQ(app.fault(), "route /y/{n} (app_test.cc:" + std::to_string(__LINE__ - 1) +
                               "): its handler takes 0 parameters of the path");
}

TEST_F(AppTest, PipelinedRequestsAreAnsweredInOrder) {
    app.get<"/slow">([]() -> task::Task<std::string> {
        co_await task::sleep(20ms);
        co_return "slow";
    });
    app.get<"/fast">([] { return "fast"; });
    auto peer = connect();
    peer->say(
        "GET /slow HTTP/1.1\r\nHost: a\r\n\r\nGET /fast HTTP/1.1\r\nHost: a\r\n"
        "Connection: close\r\n\r\n");
    ASSERT_TRUE(world.run_until([&] { return peer->over(); }));
    const std::string heard = peer->heard();
    EXPECT_LT(heard.find("slow"), heard.find("fast"));
    EXPECT_NE(heard.find("fast"), std::string::npos);
}

TEST_F(AppTest, EachAnswerThatEndedIsToldToTheApp) {
    std::string seen;
    app.on_answer([&](const AccessRecord& record) {
        seen += std::to_string(record.status) + " " + std::string(record.request->path) + "\n";
    });
    app.get<"/">([] { return "hello"; });
    app.get<"/slow">([]() -> task::Task<std::string> {
        co_await task::sleep(1s);
        co_return "late";
    });
    get("/");
    get("/slow");
    get("/none?q=1");
    EXPECT_EQ(seen, "200 /\n200 /slow\n404 /none\n");
}

}  // namespace
}  // namespace tiderace::http
