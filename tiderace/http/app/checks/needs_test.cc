#include "tiderace/http/app/checks/needs.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tiderace/http/app/app.h"
#include "tiderace/http/app/csrf.h"
#include "tiderace/http/app/life/life.h"
#include "tiderace/http/app/session.h"

namespace tiderace::http {
namespace {

struct Visits {
    int here = 0;
};
struct Limits {
    int most = 0;
};
struct Caller {
    std::string name;
};

}  // namespace

template <>
struct FromRequest<Caller> {
    static Caller from(Session session, const Limits&) {
        return {std::string(session.get("name"))};
    }
};

namespace {

std::string taken_at(const std::string& route, unsigned line) {
    return "route " + route + " (needs_test.cc:" + std::to_string(line) + "): its handler takes ";
}
std::unique_ptr<Visits> make_visits(core::EventLoop&) {
    return std::make_unique<Visits>();
}
Middleware some_sessions() {
    return sessions(std::make_shared<MemorySessions>());
}

constexpr const char* no_session =
    "a Session, and no middleware before it gives one: app.use(sessions(…))";

TEST(Needs, AStateThatNobodyGivesIsNamedWithItsRoute) {
    App app;
    unsigned line = __LINE__ + 1;
    app.get<"/a">([](Visits& visits) { return visits.here; });
    EXPECT_EQ(app.fault(),
              taken_at("/a", line) + "Visits&, which nobody gives: App::state<Visits>()");
    app.state<Visits>(make_visits);  // the order does not count
    EXPECT_EQ(app.fault(), "");
    line = __LINE__ + 1;
    app.group("/g").get<"/b">([](const Visits&, const Limits& limits) { return limits.most; });
    EXPECT_EQ(app.fault(), taken_at("/g/b", line) +
                               "const Limits&, which nobody gives: App::state<Limits>(), or "
                               "App::share() for all loops");
    const Limits limits;
    app.share(limits);
    EXPECT_EQ(app.fault(), "");
}

TEST(Needs, WhatAllLoopsShareIsTakenAsConst) {
    const Limits limits;
    App app;
    app.share(limits);
    unsigned line = __LINE__ + 1;
    app.get<"/a">([](Limits& own) { return ++own.most; });
    EXPECT_EQ(app.fault(),
              taken_at("/a", line) + "Limits&, which all loops share: take it as const Limits&");
    App life;
    line = __LINE__ + 1;
    life.get<"/a">([](Life&) { return 1; });
    EXPECT_EQ(life.fault(),
              taken_at("/a", line) + "Life&, which all loops share: take it as const Life&");
    App good;
    good.get<"/a">([](const Life& one, const Request&, core::EventLoop&, Exchange&) {
        return one.draining();
    });
    EXPECT_EQ(good.fault(), "");
}

TEST(Needs, ASessionStandsBehindItsMiddleware) {
    App app;
    unsigned line = __LINE__ + 1;
    app.get<"/a">([](Session session) { return session.exists(); });
    EXPECT_EQ(app.fault(), taken_at("/a", line) + no_session);
    app.use(some_sessions());
    EXPECT_EQ(app.fault(), "");

    App grouped;
    grouped.group("/in").use(some_sessions()).get<"/a">([](Session) { return 1; });
    grouped.get<"/own">([](Session) { return 1; }, some_sessions());
    EXPECT_EQ(grouped.fault(), "");
    line = __LINE__ + 1;
    grouped.group("/out").get<"/a">([](Session) { return 1; });
    EXPECT_EQ(grouped.fault(), taken_at("/out/a", line) + no_session);
}

TEST(Needs, MiddlewareThatComesTooEarlyFindsNoSession) {
    App app;
    app.use([](Session) {}).use(some_sessions());
    EXPECT_EQ(app.fault(), std::string("a middleware of the App takes ") + no_session);
    App inner;
    inner.group("/g").use([](Session) {});
    EXPECT_EQ(inner.fault(), std::string("a middleware of group /g takes ") + no_session);
    inner.use(some_sessions());
    EXPECT_EQ(inner.fault(), "");
    App tokens;
    tokens.use(csrf());
    EXPECT_EQ(tokens.fault(), std::string("a middleware of the App takes ") + no_session);
    App state;
    state.use([](Visits&) {});
    EXPECT_EQ(state.fault(),
              "a middleware of the App takes Visits&, which nobody gives: App::state<Visits>()");
}

TEST(Needs, AnArgumentOfTheProgramsOwnNeedsWhatItIsMadeOf) {
    const Limits limits;
    App app;
    unsigned line = __LINE__ + 1;
    app.get<"/a">([](Caller caller) { return caller.name; });
    EXPECT_EQ(app.fault(), taken_at("/a", line) + no_session);
    app.use(some_sessions());
    EXPECT_NE(app.fault().find("const Limits&"), std::string::npos) << app.fault();
    app.share(limits);
    EXPECT_EQ(app.fault(), "");
}

struct Guest {
    std::string name;
};

TEST(Needs, WhatMiddlewareLeavesIsGivenToWhatStandsBehindIt) {
    const auto guest = [](const Request&) -> std::expected<Guest, Problem> { return Guest{"ann"}; };
    App app;
    app.group("/in").use(guest).get<"/a">([](const Guest& who) { return who.name; });
    EXPECT_EQ(app.fault(), "");
    const unsigned line = __LINE__ + 1;
    app.get<"/out">([](const Guest& who) { return who.name; });
    EXPECT_EQ(app.fault(), taken_at("/out", line) +
                               "const Guest&, which nobody gives: App::state<Guest>(), or "
                               "App::share() for all loops");
    app.use([](const Request&) -> task::Task<std::expected<Guest, Problem>> {
        co_return Guest{"bob"};
    });
    EXPECT_EQ(app.fault(), "") << "a task may leave it, too";
}

TEST(Needs, AMountedAppBringsWhatItHas) {
    App part;
    part.get<"/a">([](Visits&, Session) { return 1; });
    App app;
    app.use(some_sessions()).state<Visits>(make_visits).mount("/part", std::move(part));
    EXPECT_EQ(app.fault(), "");
    App lacking;
    unsigned line = __LINE__ + 1;
    lacking.get<"/a">([](Visits&) { return 1; });
    App whole;
    whole.mount("/part", std::move(lacking));
    EXPECT_EQ(whole.fault(),
              taken_at("/part/a", line) + "Visits&, which nobody gives: App::state<Visits>()");
}

TEST(Needs, ABackgroundTaskIsChecked) {
    App app;
    app.background([](const Life&, Visits&) -> task::Task<> { co_return; });
    EXPECT_EQ(app.fault(),
              "a background task takes Visits&, which nobody gives: App::state<Visits>()");
    app.state<Visits>(make_visits);
    EXPECT_EQ(app.fault(), "");
}

}  // namespace
}  // namespace tiderace::http
