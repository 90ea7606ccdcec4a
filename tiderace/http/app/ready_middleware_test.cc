#include "tiderace/http/app/ready_middleware.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/session.h"
#include "tiderace/http/app/stream.h"
#include "tiderace/http/websocket/service.h"
#include "tiderace/testing/content_decoder.h"

namespace tiderace::http {
namespace {

class ReadyMiddlewareTest : public AppTest {
  protected:
    static bool says(const std::string& answer, std::string_view line) {
        return answer.find("\r\n" + std::string(line)) != std::string::npos;
    }
};

TEST_F(ReadyMiddlewareTest, FieldsAreOnEveryAnswerButAHandlersOwnCount) {
    app.use(request_ids()).use(security_headers()).use(entity_tags());
    app.get<"/">([] { return "hello"; });
    app.get<"/own">([] { return Response().header("x-frame-options", "SAMEORIGIN").text("own"); });
    for (const char* path : {"/", "/nowhere"}) {
        const std::string answer = get(path);
        EXPECT_TRUE(says(answer, "X-Request-Id: ")) << answer;
        EXPECT_TRUE(says(answer, "X-Frame-Options: DENY")) << answer;
        EXPECT_TRUE(says(answer, "X-Content-Type-Options: nosniff")) << answer;
        EXPECT_FALSE(says(answer, "Strict-Transport-Security")) << "not in clear";
    }
    EXPECT_TRUE(says(get("/"), "ETag: W/"));
    EXPECT_TRUE(says(get("/own"), "x-frame-options: SAMEORIGIN"));
    EXPECT_FALSE(says(get("/own"), "X-Frame-Options: DENY"));
}

TEST_F(ReadyMiddlewareTest, APreflightIsAnsweredForItsGroup) {
    app.group("/api").use(cors({.origins = {"https://a.example"}})).put<"/x">([] { return "x"; });
    app.put<"/y">([] { return "y"; });
    const char* fields = "Origin: https://a.example\r\nAccess-Control-Request-Method: PUT\r\n";
    EXPECT_TRUE(
        says(ask("OPTIONS", "/api/x", fields), "Access-Control-Allow-Origin: https://a.example"));
    EXPECT_FALSE(says(ask("OPTIONS", "/y", fields), "Access-Control-Allow-Origin"));
    EXPECT_TRUE(
        says(ask("PUT", "/api/x", fields), "Access-Control-Allow-Origin: https://a.example"));
}

TEST_F(ReadyMiddlewareTest, APreflightNamesTheMethodsOfItsPath) {
    app.use(cors({}));
    app.get<"/a">([] { return "a"; }).del<"/a">([] { return "a"; });
    app.any<"/b">([] { return "b"; });
    const auto methods = [&](std::string_view path, std::string_view asked) {
        const std::string answer = ask(
            "OPTIONS", path,
            "Origin: https://a.example\r\nAccess-Control-Request-Method: " + std::string(asked) +
                "\r\n");
        const std::string_view name = "Access-Control-Allow-Methods: ";
        const std::size_t at = answer.find(name);
        if (at == answer.npos) return std::string("none");
        const std::size_t from = at + name.size();
        return answer.substr(from, answer.find('\r', from) - from);
    };
    for (const char* const asked : {"GET", "DELETE", "PUT", "BREW"}) {
        EXPECT_EQ(methods("/a", asked), "GET, HEAD, DELETE, OPTIONS") << asked;
        EXPECT_EQ(methods("/b", asked), asked);
        EXPECT_EQ(methods("/none", asked), "none") << asked;
    }
}

// With -Wextra, members that a designated initializer leaves out are a warning in a user's program,
// unless they have an initializer of their own.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
[[maybe_unused]] const Middleware options_left_out[] = {
    security_headers({.frame_options = "SAMEORIGIN"}),
    cors({.origins = {"https://a.example"}}),
    rate_limit({.per_minute = 5}),
    compress({.with_cookies = true}),
};
[[maybe_unused]] const WebSocketOptions sockets = {.origins = {"https://a.example"}};
#pragma GCC diagnostic pop

// A browser sends a preflight without credentials (Fetch standard), so a middleware that requests
// some must not come first, wherever cors() stands.
TEST_F(ReadyMiddlewareTest, APreflightNeedsNoCredentials) {
    const auto refuse = [](const Request&) { return std::optional(Problem{.status = 401}); };
    const auto shared = [] { return cors({.origins = {"https://a.example"}}); };
    const auto put = [] { return "x"; };
    app.group("/outside").use(shared()).use(refuse).put<"/x">(put);
    app.group("/inside").use(refuse).use(shared()).put<"/x">(put);
    app.group("/within").use(refuse).group("/own").use(shared()).put<"/x">(put);
    app.group("/route").use(refuse).put<"/x">(put, shared());
    app.group("/none").use(refuse).put<"/x">(put);
    app.group("/methods").use(refuse).get<"/x">(put).put<"/x">(put, shared());
    app.group("/two").use(cors({.origins = {"https://b.example"}})).put<"/x">(put, shared());
    const char* fields = "Origin: https://a.example\r\nAccess-Control-Request-Method: PUT\r\n";
    const char* allowed = "Access-Control-Allow-Origin: https://a.example\r\n";
    for (const char* path :
         {"/outside/x", "/inside/x", "/within/own/x", "/route/x", "/methods/x", "/two/x"}) {
        const std::string answer = ask("OPTIONS", path, fields);
        EXPECT_EQ(status_of(answer), "204") << path;
        EXPECT_TRUE(says(answer, allowed)) << path;
        const bool has_get = std::string_view(path) == "/methods/x";
        EXPECT_TRUE(says(answer, has_get
                                     ? "Access-Control-Allow-Methods: GET, HEAD, PUT, OPTIONS\r\n"
                                     : "Access-Control-Allow-Methods: PUT, OPTIONS\r\n"))
            << answer;
        if (std::string_view(path) == "/two/x") continue;
        const std::string refused = ask("PUT", path, fields);
        EXPECT_EQ(status_of(refused), "401") << path;
        EXPECT_TRUE(says(refused, allowed)) << "the script may read the refusal: " << path;
        EXPECT_EQ(status_of(ask("OPTIONS", path)), "401") << "no preflight: " << path;
    }
    EXPECT_EQ(status_of(ask("OPTIONS", "/none/x", fields)), "401");
}

// Keeps the paths that it is given.
class PathLog final : public AccessLog {
  public:
    void write(const AccessRecord& record) override {
        paths += std::string(record.request->path) + " ";
    }
    std::string paths;
};

TEST_F(ReadyMiddlewareTest, TheInnermostLogCounts) {
    const auto handler = [] { return "x"; };
    app.get<"/">(handler);
    app.get<"/quiet">(handler, access_log("off"));
    auto api = app.group("/api").use(access_log("api.log", AccessLogFormat::json));
    api.get<"/x">(handler);
    api.get<"/own">(handler, access_log("own.log"));
    std::vector<AccessLogTarget> targets = app.site().access_logs();
    ASSERT_EQ(targets.size(), 2u);
    connect();
    std::map<std::string, PathLog> logs;
    PathLog other;
    loop().site().set_log(&other,
                          [&](const AccessLogTarget& target) { return &logs[target.path]; });
    for (const char* path : {"/", "/quiet", "/api/x", "/api/own", "/api/nothing", "/nothing"}) {
        get(path);
    }
    EXPECT_EQ(ask("DELETE", "/api/x").substr(9, 3), "405");
    EXPECT_EQ(other.paths, "/ /api/nothing /nothing ");
    EXPECT_EQ(logs["api.log"].paths, "/api/x /api/x ");
    EXPECT_EQ(logs["own.log"].paths, "/api/own ");
    EXPECT_EQ(logs.size(), 2u);
}

TEST_F(ReadyMiddlewareTest, TheAppsLogTakesThePlaceOfThatOfItsServer) {
    app.use(access_log("app.log"));
    app.get<"/">([] { return "x"; });
    connect();
    PathLog own;
    PathLog other;
    loop().site().set_log(&other, [&](const AccessLogTarget&) { return &own; });
    get("/");
    get("/nothing");
    EXPECT_EQ(own.paths, "/ /nothing ");
    EXPECT_EQ(other.paths, "");
}

TEST_F(ReadyMiddlewareTest, AnswersAreLoggedWhereSomethingReadsTheirRecords) {
    const auto logs_answers = [&](App& served, AccessLog* of_the_server) {
        AppLoop one(world.loop(), served, nullptr);
        PathLog own;
        one.site().set_log(of_the_server, [&](const AccessLogTarget&) { return &own; });
        return one.site().logs();
    };
    PathLog log;
    App quiet;
    quiet.get<"/">([] { return "x"; }, access_log("off"));
    EXPECT_FALSE(logs_answers(quiet, nullptr));
    EXPECT_TRUE(logs_answers(quiet, &log));
    App with_a_log;
    with_a_log.get<"/">([] { return "x"; }, access_log("own.log"));
    EXPECT_TRUE(logs_answers(with_a_log, nullptr));
    App counting;
    counting.on_answer([](const AccessRecord&) {});
    EXPECT_TRUE(logs_answers(counting, nullptr));
}

TEST_F(ReadyMiddlewareTest, ALimitIsOfItsRoute) {
    app.get<"/limited">([] { return "x"; }, rate_limit({.per_minute = 1, .burst = 2}));
    app.get<"/free">([] { return "x"; });
    EXPECT_EQ(status_of(get("/limited")), "200");
    EXPECT_EQ(status_of(get("/limited")), "200");
    EXPECT_EQ(status_of(get("/limited")), "429");
    EXPECT_EQ(status_of(get("/free")), "200");
    world.advance(1min);
    EXPECT_EQ(status_of(get("/limited")), "200");
}

TEST_F(ReadyMiddlewareTest, OtherSitesPagesAreKeptOut) {
    app.use(cross_origin());
    app.post<"/x">([] { return "x"; });
    EXPECT_EQ(status_of(ask("POST", "/x", "Origin: https://evil.example\r\n")), "403");
    EXPECT_EQ(status_of(ask("POST", "/x", "Origin: http://a\r\n")), "200");
    EXPECT_EQ(status_of(ask("POST", "/x")), "200");
}

// Verified on another thread; then the handler runs, with its parameters.
TEST_F(ReadyMiddlewareTest, BasicAuthStandsBeforeAGroup) {
    app.group("/admin")
        .use(basic_auth(
            {.verify = [](ByteView user,
                          ByteView password) { return user == "ann" && password == "secret"; }}))
        .get<"/{page}">([](std::string_view page) { return std::string(page); });
    EXPECT_EQ(status_of(get("/admin/x")), "401");
    const auto with = [&](const char* credentials) {
        auto peer = connect();
        peer->say(
            "GET /admin/users HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Basic " +
            std::string(credentials) + "\r\n\r\n");
        EXPECT_TRUE(world.wait_for_pool([&] { return peer->over(); }));
        return peer->heard();
    };
    EXPECT_EQ(body_of(with("YW5uOnNlY3JldA==")), "users");
    EXPECT_EQ(status_of(with("YW5uOndyb25n")), "401");
}

TEST_F(ReadyMiddlewareTest, BearerAuthStandsBeforeARoute) {
    app.get<"/x">([] { return "x"; },
                  bearer_auth({.verify = [](ByteView token) { return token == "t"; }}));
    EXPECT_EQ(status_of(get("/x")), "401");
    EXPECT_EQ(body_of(ask("GET", "/x", "Authorization: Bearer t\r\n")), "x");
}

class CompressionTest : public AppTest {
  protected:
    void serve(CompressionOptions options = {}) {
        app.use(compress(options));
        app.get<"/">([this] { return page; });
        app.get<"/short">([] { return "short"; });
        app.get<"/cookie">(
            [this] { return Response().cookie({.name = "a", .value = "b"}).text(page); });
        app.get<"/ticks">([]() -> Events {
            for (int i = 0; i < 2; ++i) {
                co_yield {.data = std::to_string(i)};
                co_await task::sleep(1s);
            }
        });
    }
    std::string gzip(std::string_view path) {
        return ask("GET", path, "Accept-Encoding: gzip\r\n");
    }
    static bool is_compressed(const std::string& answer) {
        return answer.find("\r\nContent-Encoding: gzip\r\n") != std::string::npos;
    }
    static std::string decoded(std::string_view body) {
        return testing::make_decoder(wire::ContentCoding::gzip)->decode(body);
    }

    std::string page = std::string(5'000, 'x');
};

TEST_F(CompressionTest, IsNegotiated) {
    serve();
    const std::string answer = gzip("/");
    EXPECT_TRUE(is_compressed(answer)) << answer;
    EXPECT_NE(answer.find("\r\nVary: Accept-Encoding\r\n"), std::string::npos);
    EXPECT_EQ(decoded(body_of(answer)), page);
    EXPECT_EQ(body_of(get("/")), page) << "not asked for";
    EXPECT_EQ(body_of(ask("GET", "/", "Accept-Encoding: gzip;q=0\r\n")), page);
    EXPECT_EQ(body_of(gzip("/short")), "short");
}

// RFC 9110, 15.4.5: a 304 has the Vary that its 200 would have.
TEST_F(CompressionTest, WhatHasNotChangedVariesAsBefore) {
    app.use(compress()).use(entity_tags());
    app.get<"/">([this] { return page; });
    app.get<"/own">([] { return Response(304).header("ETag", "\"a\""); });
    const std::string answer = gzip("/");
    const std::size_t tag = answer.find("ETag: ");
    ASSERT_NE(tag, std::string::npos) << answer;
    const std::string same =
        "If-None-Match: " + answer.substr(tag + 6, answer.find("\r\n", tag) - tag - 6) + "\r\n";
    for (const std::string& fields : {same, same + "Accept-Encoding: gzip\r\n"}) {
        const std::string unchanged = ask("GET", "/", fields);
        EXPECT_EQ(status_of(unchanged), "304");
        EXPECT_NE(unchanged.find("\r\nVary: Accept-Encoding\r\n"), std::string::npos) << unchanged;
        EXPECT_EQ(unchanged.find("Content-Length"), std::string::npos) << unchanged;
    }
    EXPECT_NE(get("/own").find("\r\nVary: Accept-Encoding\r\n"), std::string::npos);
}

TEST_F(CompressionTest, ComesAfterAllOthersWhereverItStands) {
    app.use(entity_tags()).use(compress()).use(sessions(std::make_shared<MemorySessions>(3)));
    app.group("/within").use(compress({.bytes_min = 1'000'000})).get<"/">([this] { return page; });
    app.get<"/">([this] { return page; });
    app.get<"/session">([this](Session session) -> task::Task<std::string> {
        co_await session.set("a", "1");
        co_return page;
    });
    for (const char* path : {"/", "/within"}) {
        const std::string answer = gzip(path);
        EXPECT_TRUE(is_compressed(answer)) << path;
        EXPECT_NE(answer.find("ETag: W/"), std::string::npos) << answer;
    }
    EXPECT_FALSE(is_compressed(gzip("/session"))) << "its cookie";
}

TEST_F(CompressionTest, AnAnswerWithACookieIsNotUnlessAskedFor) {
    serve();
    EXPECT_FALSE(is_compressed(gzip("/cookie")));
    EXPECT_EQ(body_of(gzip("/cookie")), page);
}

TEST_F(CompressionTest, AnAnswerWithACookieIsWhereAskedFor) {
    serve({.bytes_min = 1, .with_cookies = true});
    EXPECT_TRUE(is_compressed(gzip("/cookie")));
}

// A session that is used within is not compressed, because its cookie comes before.
TEST_F(CompressionTest, ASessionsCookieCountsToo) {
    app.use(sessions(std::make_shared<MemorySessions>(3))).use(compress());
    app.get<"/">([this](Session session) -> task::Task<std::string> {
        co_await session.set("a", "1");
        co_return page;
    });
    EXPECT_FALSE(is_compressed(gzip("/")));
}

TEST_F(CompressionTest, AnEventLeavesWhenItHappens) {
    serve();
    auto peer = connect();
    peer->say("GET /ticks HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n");
    world.settle();
    ASSERT_TRUE(is_compressed(peer->heard())) << peer->heard();
    EXPECT_EQ(decoded(body_of(peer->heard())), "data: 0\n\n");
    world.advance(1s);
    EXPECT_EQ(decoded(body_of(peer->heard())), "data: 0\n\ndata: 1\n\n");
}

}  // namespace
}  // namespace tiderace::http
