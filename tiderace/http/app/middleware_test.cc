#include "tiderace/http/app/middleware.h"

#include <gtest/gtest.h>

#include <expected>
#include <optional>
#include <stdexcept>
#include <string>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/cookies.h"
#include "tiderace/http/app/ready_middleware.h"

namespace tiderace::http {
namespace {

class MiddlewareTest : public AppTest {
  protected:
    static bool has(const std::string& answer, std::string_view line) {
        return answer.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
    }
};

// Appends its name to a field on the way in and another on the way out.
auto in(std::string& log, std::string name) {
    return [&log, name] { log += name; };
}
auto out(std::string name) {
    return [name](const Request&, Response& response) { response.header("X-Out", name); };
}

TEST_F(MiddlewareTest, RunsFromTheOutsideInAndBack) {
    std::string log;
    app.use(in(log, "a")).use(in(log, "b"));
    app.use(out("1"));
    auto api = app.group("/api").use(in(log, "c")).use(out("2"));
    api.get<"/x">(
        [&log] {
            log += "h";
            return "x";
        },
        in(log, "d"), out("3"));
    api.get<"/">([] { return "root"; });
    app.get<"/plain">([] { return "plain"; });
    const std::string answer = get("/api/x");
    EXPECT_EQ(log, "abcdh");
    EXPECT_NE(answer.find("X-Out: 3\r\nX-Out: 2\r\nX-Out: 1\r\n"), std::string::npos) << answer;
    EXPECT_EQ(body_of(get("/api")), "root");
    EXPECT_EQ(status_of(get("/api/")), "404") << "another path";
    log.clear();
    EXPECT_FALSE(has(get("/plain"), "X-Out: 2"));
    EXPECT_EQ(log, "ab");
    log.clear();
    EXPECT_TRUE(has(get("/nowhere"), "X-Out: 1")) << "the App's own sees requests without a route";
    EXPECT_EQ(log, "ab");
    log.clear();
    EXPECT_TRUE(has(ask("DELETE", "/api/x"), "X-Out: 2")) << "a wrong method is the group's";
}

TEST_F(MiddlewareTest, WhatItReturnsIsTheAnswer) {
    static int called;
    called = 0;
    app.use([](const Request& request) -> std::optional<Problem> {
        if (request.path == "/no") return Problem{.status = 403};
        return std::nullopt;
    });
    app.use([](Cookies cookies) -> std::expected<void, Redirect> {
        if (cookies.get("who") == "nobody") return std::unexpected(Redirect{"/login"});
        return {};
    });
    app.get<"/no">([] {
           ++called;
           return "no";
       })
        .get<"/yes">([] {
            ++called;
            return "yes";
        });
    EXPECT_EQ(status_of(get("/no")), "403");
    EXPECT_EQ(status_of(ask("GET", "/yes", "Cookie: who=nobody\r\n")), "303");
    EXPECT_EQ(called, 0);
    EXPECT_EQ(body_of(get("/yes")), "yes");
    EXPECT_EQ(called, 1);
}

// The head may have moved meanwhile: what the handler takes is found again.
TEST_F(MiddlewareTest, ATaskDecidesLater) {
    app.use([](const Request& request) -> task::Task<std::optional<Problem>> {
        co_await task::sleep(10ms);
        if (request.path == "/item/13") co_return Problem{.status = 418};
        co_return std::nullopt;
    });
    app.use([]() -> task::Task<> { co_await task::yield(); });
    app.use([]() -> task::Task<std::optional<Problem>> { co_return std::nullopt; });
    app.get<"/item/{id}">([](std::string id) { return "item " + id; });
    app.post<"/body/{id}">([](std::string id, Body body) { return id + std::move(body).text(); });
    app.get<"/later/{id}">([](std::string_view id) -> task::Task<std::string> {
        co_await task::sleep(1ms);
        co_return std::string(id);
    });
    EXPECT_EQ(body_of(get("/item/7")), "item 7");
    EXPECT_EQ(status_of(get("/item/13")), "418");
    EXPECT_EQ(body_of(ask("POST", "/body/x", "", "abc")), "xabc");
    EXPECT_EQ(body_of(get("/later/abc")), "abc");
    EXPECT_EQ(status_of(get("/nowhere")), "404");
    // Two on one connection: nothing is kept of the first.
    auto peer = connect();
    peer->say(
        "GET /item/13 HTTP/1.1\r\nHost: a\r\n\r\nGET /item/8 HTTP/1.1\r\nHost: a\r\n"
        "Connection: close\r\n\r\n");
    ASSERT_TRUE(world.run_until([&] { return peer->over(); }));
    EXPECT_NE(peer->heard().find("item 8"), std::string::npos) << peer->heard();
}

TEST_F(MiddlewareTest, WhatItThrowsIsAnswered) {
    app.get<"/now">([] { return ""; },
                    []() -> std::optional<Problem> { throw std::runtime_error("x"); });
    app.get<"/problem">([] { return ""; },
                        []() -> std::optional<Problem> { throw Problem{.status = 409}; });
    app.get<"/later">([] { return ""; },
                      []() -> task::Task<> {
                          co_await task::sleep(1ms);
                          throw std::runtime_error("x");
                      });
    app.get<"/later-problem">([] { return ""; },
                              []() -> task::Task<> {
                                  co_await task::sleep(1ms);
                                  throw Problem{.status = 409};
                              });
    app.get<"/after">([] { return "secret"; },
                      [](const Request&, Response&) { throw std::runtime_error("x"); });
    app.get<"/fine">([] { return "fine"; });
    for (const char* path : {"/now", "/later", "/after"})
        EXPECT_EQ(status_of(get(path)), "500") << path;
    for (const char* path : {"/problem", "/later-problem"})
        EXPECT_EQ(status_of(get(path)), "409") << path;
    EXPECT_EQ(body_of(get("/fine")), "fine");
}

TEST_F(MiddlewareTest, AClientThatVanishesInATaskEndsIt) {
    static int ended;
    static int called;
    struct Note {
        ~Note() { ++ended; }
    };
    ended = called = 0;
    app.use([]() -> task::Task<> {
        const Note note;
        co_await task::sleep(1h);
    });
    app.get<"/x">([] {
        ++called;
        return "x";
    });
    auto peer = connect();
    peer->say("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    world.settle();
    peer->reset();
    ASSERT_TRUE(world.run_until([&] { return ended == 1; }));
    world.advance(2h);
    EXPECT_EQ(called, 0);
}

struct Boat {
    std::string name;
};
struct StrictBoat {
    static constexpr json::Unknown unknown_members = json::Unknown::refuse;
    std::string name;
};
struct OpenBoat {
    static constexpr json::Unknown unknown_members = json::Unknown::ignore;
    std::string name;
};

TEST_F(MiddlewareTest, UnknownMembersGoByTheInnermostAndTheStruct) {
    const auto name = [](Json<Boat> boat) { return boat->name; };
    const auto post = [&](std::string_view path) {
        return ask("POST", path, "Content-Type: application/json\r\n",
                   R"({"name":"Ebb","draught":2})");
    };
    app.post<"/">(name);
    app.post<"/open">([](Json<OpenBoat> boat) { return boat->name; });
    app.post<"/route">(name, unknown_members(json::Unknown::ignore));
    auto group = app.group("/group").use(unknown_members(json::Unknown::ignore));
    group.post<"/">(name);
    group.post<"/task">(
        [](const Request&, Json<Boat> boat) -> task::Task<std::string> { co_return boat->name; },
        out("route"));
    group.post<"/strict">([](Json<StrictBoat> boat) { return boat->name; });
    group.post<"/refuses">(name, unknown_members(json::Unknown::refuse));
    const std::string refused = post("/");
    EXPECT_EQ(status_of(refused), "422");
    EXPECT_NE(body_of(refused).find("draught"), std::string::npos) << refused;
    for (const char* open : {"/open", "/route", "/group", "/group/task"}) {
        EXPECT_EQ(body_of(post(open)), "Ebb") << open;
    }
    for (const char* strict : {"/group/strict", "/group/refuses"}) {
        EXPECT_EQ(status_of(post(strict)), "422") << strict;
    }
}

TEST_F(MiddlewareTest, TheAppsOptionIgnoresUnknownMembers) {
    app = App({.unknown_members = json::Unknown::ignore});
    app.post<"/boats">([](Json<Boat> boat) { return boat->name; });
    EXPECT_EQ(body_of(ask("POST", "/boats", "Content-Type: application/json\r\n",
                          R"({"name":"Ebb","draught":2})")),
              "Ebb");
}

// The body's limit is the only one of its size, whatever reads it.
TEST_F(MiddlewareTest, JsonIsAsLargeAsItsRouteTakes) {
    app.post<"/boats">([](Json<Boat> boat) { return std::to_string(boat->name.size()); },
                       Middleware(Setting{.body_bytes_max = 4_MiB}));
    const std::string type = "Content-Type: application/json\r\n";
    const auto boat_of = [](std::size_t bytes) {
        return R"({"name":")" + std::string(bytes, 'x') + "\"}";
    };
    EXPECT_EQ(body_of(ask("POST", "/boats", type, boat_of(3'000'000))), "3000000");
    EXPECT_EQ(status_of(ask("POST", "/boats", type, boat_of(5'000'000))), "413");
}

TEST_F(MiddlewareTest, LimitsAreOfTheInnermost) {
    app = App({.body_bytes_max = 10, .handler_timeout = 5s});
    app.post<"/small">([](Body body) { return std::move(body).text(); });
    app.group("/big").use(Middleware(Setting{.body_bytes_max = 20})).post<"/echo">([](Body body) {
        return std::move(body).text();
    });
    app.get<"/slow">(
        []() -> task::Task<std::string> {
            co_await task::sleep(60s);
            co_return "slow";
        },
        Middleware(Setting{.handler_timeout = 2min}), out("late"));
    app.get<"/quick">(
        []() -> task::Task<std::string> {
            co_await task::sleep(60s);
            co_return "slow";
        },
        out("late"));
    app.use([]() -> task::Task<> { co_await task::sleep(3s); });
    const std::string twenty(20, 'x');
    EXPECT_EQ(status_of(ask("POST", "/small", "", twenty)), "413");
    EXPECT_EQ(body_of(ask("POST", "/big/echo", "", twenty)), twenty);
    EXPECT_EQ(status_of(ask("POST", "/big/echo", "", twenty + "x")), "413");
    EXPECT_EQ(body_of(get("/slow")), "slow") << "the rule's deadline is not the handler's";
    const std::string late = get("/quick");
    EXPECT_EQ(status_of(late), "503");
    EXPECT_TRUE(has(late, "X-Out: late"));
}

TEST_F(MiddlewareTest, GroupsTakeTheParametersOfTheirPrefix) {
    app.group<"/orgs/{org}">().get<"/members/{id}">(
        [](std::string org, int id) { return org + std::to_string(id); });
    auto inner = app.group("/a").group<"/{x}">().group("/c");
    inner.get<"/{y}">([](int x, int y) { return std::to_string(x + y); });
    EXPECT_EQ(body_of(get("/orgs/tide/members/7")), "tide7");
    EXPECT_EQ(body_of(get("/a/1/c/2")), "3");
    app.group("/bad/").get<"/">([] { return ""; });
    EXPECT_EQ(app.fault(), "group /bad/: a prefix begins with '/' and does not end with one");
}

TEST_F(MiddlewareTest, AHostHasRoutesOfItsOwn) {
    app.get<"/">([] { return "any"; });
    app.host("api.example.org").get<"/">([] { return "api"; });
    app.host("*.example.org").use(out("sub")).get<"/">([] { return "sub"; });
    const auto at = [&](const char* host) {
        auto peer = connect();
        peer->say("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\nConnection: close\r\n\r\n");
        EXPECT_TRUE(world.run_until([&] { return peer->over(); }));
        return body_of(peer->heard());
    };
    EXPECT_EQ(at("api.example.org"), "api");
    EXPECT_EQ(at("API.example.org:8080"), "api");
    EXPECT_EQ(at("www.example.org"), "sub");
    EXPECT_EQ(at("a.b.example.org"), "sub");
    EXPECT_EQ(at("example.org"), "any");
    EXPECT_EQ(at("notexample.org"), "any");
    EXPECT_EQ(at("[::1]:80"), "any");
}

TEST_F(MiddlewareTest, AnAppIsMountedWithAllThatItHas) {
    struct Counter {
        int value = 0;
    };
    App shop;
    shop.state<Counter>([](core::EventLoop&) { return std::make_unique<Counter>(); });
    shop.use(out("shop"));
    shop.get<"/">([] { return "shop"; });
    shop.group("/items")
        .use(out("items"))
        .get<"/{id}">([](int id, Counter& counter) { return std::to_string(id + ++counter.value); },
                      out("own"));
    app.use(out("outer"));
    app.get<"/">([] { return "home"; });
    app.mount("/shop", std::move(shop));
    ASSERT_EQ(app.fault(), "");
    EXPECT_EQ(body_of(get("/")), "home");
    EXPECT_FALSE(has(get("/"), "X-Out: shop"));
    EXPECT_EQ(body_of(get("/shop")), "shop");
    const std::string answer = get("/shop/items/41");
    EXPECT_EQ(body_of(answer), "42");
    EXPECT_NE(answer.find("X-Out: own\r\nX-Out: items\r\nX-Out: shop\r\nX-Out: outer\r\n"),
              std::string::npos)
        << answer;
}

TEST_F(MiddlewareTest, AMountedAppHasNothingThatWouldBeDropped) {
    App logs;
    logs.on_answer([](const AccessRecord&) {});
    App outer;
    outer.mount("/shop", std::move(logs));
    EXPECT_EQ(outer.fault(), "mount /shop: on_answer() is for the App that serves; call it there");
    App trusts;
    trusts.trusted_proxies({.networks = {"::1"}});
    app.mount("/shop", std::move(trusts));
    EXPECT_EQ(app.fault(),
              "mount /shop: trusted_proxies() is for the App that serves; call it there");
}

std::string where_from(const Request& request) {
    char text[core::Address::ip_text_bytes_max];
    std::string seen(text, request.peer->format_ip(text));
    return request.secure ? seen + " secure" : seen;
}

TEST_F(MiddlewareTest, BehindATrustedProxyAllSeeTheClient) {
    std::string logged;
    app.trusted_proxies({.networks = {"0.0.0.0/0"}});
    app.use(rate_limit({.per_minute = 1, .burst = 1}));
    app.on_answer([&](const AccessRecord& record) {
        logged += where_from(*record.request) + " " + std::to_string(record.status) + ";";
    });
    app.get<"/">([](const Request& request) { return where_from(request); });
    const auto from = [&](std::string_view client) {
        return ask("GET", "/",
                   "X-Forwarded-Proto: https\r\nX-Forwarded-For: " + std::string(client) + "\r\n");
    };
    EXPECT_EQ(body_of(from("2001:db8::7")), "2001:db8::7 secure");
    EXPECT_EQ(status_of(from("2001:db8::7")), "429");
    EXPECT_EQ(body_of(from("2001:db8:1::8")), "2001:db8:1::8 secure");
    EXPECT_EQ(logged, "2001:db8::7 secure 200;2001:db8::7 secure 429;2001:db8:1::8 secure 200;");
}

// Both one behind the other would believe a client that the first has named.
TEST_F(MiddlewareTest, TheLastCallNamesTheTrustedProxies) {
    app.trusted_proxies({.networks = {"0.0.0.0/0", "::/0"}});
    app.trusted_proxies({.networks = {"192.0.2.0/24"}});
    app.get<"/">([](const Request& request) { return where_from(request); });
    const std::string own = body_of(get("/"));
    EXPECT_EQ(body_of(ask("GET", "/", "X-Forwarded-For: 192.0.2.7\r\n")), own);
}

TEST_F(MiddlewareTest, ANewRequestOfAProxysConnectionIsAnotherClients) {
    app.trusted_proxies({.networks = {"0.0.0.0/0", "::/0", "unix"}});
    app.get<"/">([](const Request& request) { return "<" + where_from(request) + ">"; });
    auto peer = connect();
    peer->say(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\n"
        "X-Forwarded-For: 192.0.2.7\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n"
        "Connection: close\r\n\r\n");
    ASSERT_TRUE(world.run_until([&] { return peer->over(); }));
    const std::string heard = peer->heard();
    EXPECT_NE(heard.find("<192.0.2.7 secure>"), std::string::npos) << heard;
    EXPECT_EQ(heard.find("secure>", heard.find("secure>") + 1), std::string::npos) << heard;
    EXPECT_EQ(heard.find("192.0.2.7", heard.find("192.0.2.7") + 1), std::string::npos) << heard;
}

TEST_F(MiddlewareTest, WithoutTrustedProxiesAClientSaysNothing) {
    app.get<"/">([](const Request& request) { return where_from(request); });
    const std::string plain = body_of(get("/"));
    EXPECT_EQ(body_of(ask("GET", "/",
                          "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n"
                          "Forwarded: for=192.0.2.7;proto=https\r\n")),
              plain);
    App other;
    other.trusted_proxies({.networks = {"somewhere"}});
    EXPECT_EQ(other.fault(), "trusted_proxies: \"somewhere\" is no address or network");
}

struct Guest {
    std::string name;
};

TEST_F(MiddlewareTest, WhatOneLeavesIsAnArgumentBehindIt) {
    app.use([](const Request& request) -> std::expected<Guest, Problem> {
        if (request.query.empty()) return std::unexpected(Problem{.status = 401});
        return Guest{std::string(request.query)};
    });
    app.get<"/now">([](const Guest& guest) { return guest.name; });
    app.get<"/later">([](const Guest& guest) -> task::Task<std::string> {
        co_await task::sleep(1s);
        co_return guest.name;
    });
    EXPECT_EQ(body_of(get("/now?ann")), "ann");
    EXPECT_EQ(body_of(get("/later?bob")), "bob");
    EXPECT_EQ(status_of(get("/now")), "401");
}

TEST_F(MiddlewareTest, TheInnermostOneCountsAndTasksMayLeaveToo) {
    app.use([]() -> std::expected<Guest, Problem> { return Guest{"outer"}; });
    app.get<"/outer">([](const Guest& guest) { return guest.name; });
    app.group("/in")
        .use([](const Guest& guest) -> task::Task<std::expected<Guest, Problem>> {
            std::string name = "inner of " + guest.name;
            co_await task::sleep(1s);
            co_return Guest{std::move(name)};
        })
        .get<"/">([](const Guest& guest) { return guest.name; });
    EXPECT_EQ(body_of(get("/outer")), "outer");
    EXPECT_EQ(body_of(get("/in")), "inner of outer");
}

}  // namespace
}  // namespace tiderace::http
