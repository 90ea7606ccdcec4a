#include "tiderace/http/app/routes.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "tiderace/http/app/app_fixture.h"

namespace tiderace::http {
namespace {

class RoutesTest : public AppTest {};

TEST_F(RoutesTest, EachMethodHasItsOwn) {
    app.get<"/x">([] { return "get"; })
        .post<"/x">([] { return "post"; })
        .put<"/x">([] { return "put"; })
        .patch<"/x">([] { return "patch"; })
        .del<"/x">([] { return "delete"; })
        .any<"/y">([] { return "any"; })
        .get<"/y">([] { return "get"; });
    app.group("/g").route(wire::Method::put, "/{n}", [](int n) { return std::to_string(n); });
    EXPECT_EQ(body_of(get("/x")), "get");
    EXPECT_EQ(body_of(ask("POST", "/x")), "post");
    EXPECT_EQ(body_of(ask("PUT", "/x")), "put");
    EXPECT_EQ(body_of(ask("PATCH", "/x")), "patch");
    EXPECT_EQ(body_of(ask("DELETE", "/x")), "delete");
    EXPECT_EQ(body_of(ask("DELETE", "/y")), "any");
    EXPECT_EQ(body_of(get("/y")), "get");
    EXPECT_EQ(body_of(ask("PUT", "/g/7")), "7");
}

// "GET /a (routes_test.cc:7)".
std::string at(const std::string& route, unsigned line) {
    return route + " (routes_test.cc:" + std::to_string(line) + ")";
}
std::string conflict(const std::string& late, const std::string& early) {
    return "route " + late + " conflicts with " + early + ", which was added before";
}

TEST_F(RoutesTest, AConflictNamesBothPlaces) {
    const unsigned line = __LINE__;
    app.get<"/users/{name}">([](std::string_view) { return "1"; });
    app.post<"/users/{name}">([](std::string_view) { return "2"; });
    app.get<"/users/{id}">([](int) { return "3"; });
    EXPECT_EQ(app.fault(),
              conflict(at("GET /users/{id}", line + 3), at("GET /users/{name}", line + 1)));
}

TEST_F(RoutesTest, AConflictOfPatternsThatWereMadeNamesBothPlaces) {
    const std::string prefix = "/users";
    const unsigned line = __LINE__;
    app.route(wire::Method::get, prefix + "/{name}", [](std::string_view) { return "1"; });
    app.get<"/users/{id}">([](int) { return "2"; });
    EXPECT_EQ(app.fault(),
              conflict(at("GET /users/{id}", line + 2), at("GET /users/{name}", line + 1)));
    App other;
    other.get<"/">([] { return "1"; });
    other.route(wire::Method::get, "/", [] { return "2"; });
    EXPECT_EQ(other.fault(), conflict(at("GET /", line + 7), at("GET /", line + 6)));
}

TEST_F(RoutesTest, AConflictAcrossGroupsNamesTheRoutesOfBoth) {
    auto api = app.group("/api");
    const unsigned line = __LINE__;
    api.get<"/users/{name}">([](std::string_view) { return "1"; });
    api.group("/users").get<"/{id}">([](int) { return "2"; });
    EXPECT_EQ(app.fault(),
              conflict(at("GET /api/users/{id}", line + 2), at("GET /api/users/{name}", line + 1)));
    app = App();
    app.group<"/{kind}">().del<"/{id}">([](std::string_view, int) { return "1"; });
    app.group<"/{what}">().route(wire::Method::delete_, "/{n}",
                                 [](std::string_view, int) { return "2"; });
    EXPECT_EQ(app.fault(),
              conflict(at("DELETE /{what}/{n}", line + 7), at("DELETE /{kind}/{id}", line + 6)));
}

TEST_F(RoutesTest, AConflictWithAMountedAppNamesTheRoutesOfBoth) {
    App shop;
    const unsigned line = __LINE__;
    shop.get<"/{id}">([](int) { return "1"; });
    app.get<"/shop/{name}">([](std::string_view) { return "2"; });
    app.mount("/shop", std::move(shop));
    EXPECT_EQ(app.fault(),
              conflict(at("GET /shop/{id}", line + 1), at("GET /shop/{name}", line + 2)));
}

// What answers there knows nothing of a parameter in front of it.
TEST_F(RoutesTest, APrefixWithParametersIsForGroupsAlone) {
    App shop;
    shop.get<"/{id}">([](int) { return "1"; });
    app.mount("/of/{owner}", std::move(shop));
    EXPECT_EQ(app.fault(), "mount /of/{owner}: its prefix has no parameters");
    app = App();
    const unsigned line = __LINE__;
    app.files("/of/{owner}", "/");
    EXPECT_EQ(app.fault(), "route " + at("/of/{owner}/{path...}", line + 1) +
                               ": its handler takes 1 parameters of the path");
}

TEST_F(RoutesTest, WhatTheAppAddsItselfStandsWhereItWasCalled) {
    const unsigned line = __LINE__;
    app.health("/healthz");
    app.ready("/healthz");
    EXPECT_EQ(app.fault(), conflict(at("GET /healthz", line + 2), at("GET /healthz", line + 1)));
    app = App();
    app.openapi("/api.json");
    app.ready("/api.json", [] { return true; });
    EXPECT_EQ(app.fault(), conflict(at("GET /api.json", line + 6), at("GET /api.json", line + 5)));
    app = App();
    app.any<"/{path...}">([](std::string_view) { return "1"; });
    app.files("/", "/");
    EXPECT_EQ(app.fault(), conflict(at("any method /{path...}", line + 10),
                                    at("any method /{path...}", line + 9)));
    app = App();
    app.cgi("/programs", "/");
    app.files("/programs", "/", {Middleware(Setting{.handler_timeout = 1s})});
    EXPECT_EQ(app.fault(), conflict(at("any method /programs/{path...}", line + 15),
                                    at("any method /programs/{path...}", line + 14)));
    app = App();
    app.fastcgi("/php", "unix:/absent.sock");
    app.cgi("/php", "/");
    EXPECT_EQ(app.fault(), conflict(at("any method /php/{path...}", line + 20),
                                    at("any method /php/{path...}", line + 19)));
}

}  // namespace
}  // namespace tiderace::http
