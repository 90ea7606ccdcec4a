// Sessions of which two requests come at a time.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/http/app/csrf.h"
#include "tiderace/http/app/session_fixture.h"
#include "tiderace/task/sleep.h"

namespace tiderace::http {
namespace {

// Finds a session, and gives it five seconds later: time for another request.
class LateStore final : public OverMemory {
  public:
    task::Task<std::optional<Found>> load(std::string key, UnixSeconds now) override {
        auto found = co_await inner.load(std::move(key), now);
        if (is_late) co_await task::sleep(5s);
        co_return found;
    }

    bool is_late = false;
};

// Two requests of one session: one has read it when the other ends it.
class TwoRequestsOfASession : public SessionTest {
  protected:
    TwoRequestsOfASession() {
        serve_sessions({.lifetime = 240s}, late);
        app.post<"/set">([](Session session) -> task::Task<std::string> {
            co_await session.set("cart", "fish");
            co_return "set";
        });
        app.post<"/careless">([](Session session) -> task::Task<std::string> {
            try {
                co_await session.set("cart", "fish");
            } catch (const Problem&) {
            }
            co_return "[" + std::string(session.get("user")) + std::string(session.get("cart")) +
                "]";
        });
        app.post<"/renew">([](Session session) -> task::Task<std::string> {
            co_await session.renew();
            co_return "[" + std::string(session.get("user")) + "]";
        });
        app.post<"/other">([](Session session) -> task::Task<std::string> {
            co_await session.set("other", "whale");
            co_return "set";
        });
        app.post<"/drop">([](Session session) -> task::Task<std::string> {
            co_await session.erase("user");
            co_return "gone";
        });
        app.post<"/token">(
            [](Session session) -> task::Task<std::string> { return csrf_token(session); });
        app.post<"/checked">([] { return "passed"; }, csrf());
        app.post<"/all">([](Session session) {
            return std::string(session.get("user")) + "," + std::string(session.get("cart")) + "," +
                   std::string(session.get("other"));
        });
        id = id_of(ask("POST", "/login"));
    }
    std::string all(const std::string& of) { return body_of(ask_with("POST", "/all", of)); }
    // The answer to a request that had read the session when `ends` ended it.
    std::string answer_beside(std::string_view method, std::string_view path,
                              std::string_view ends) {
        late->is_late = true;
        auto peer = connect();
        peer->say(std::string(method) + " " + std::string(path) +
                  " HTTP/1.1\r\nHost: a\r\nCookie: __Host-id=" + id + "\r\n\r\n");
        world.settle();
        late->is_late = false;
        after = ask_with("POST", ends, id);
        world.advance(5s);
        return peer->heard();
    }

    std::shared_ptr<LateStore> late = std::make_shared<LateStore>();
    std::string id;
    std::string after;  // the answer of the one that ended it
};

TEST_F(TwoRequestsOfASession, WhatIsSetDoesNotBringItBack) {
    const std::string answer = answer_beside("POST", "/set", "/logout");
    EXPECT_EQ(status_of(answer), "409");
    EXPECT_EQ(set_cookie(answer), "") << "the browser may have a new one";
    EXPECT_EQ(late->inner.size(), 0u);
    EXPECT_EQ(body_of(ask_with("GET", "/", id)), "[]");
}

TEST_F(TwoRequestsOfASession, WhatOnlyOneOfThemSetsOrErasesStaysSo) {
    EXPECT_EQ(body_of(answer_beside("POST", "/set", "/other")), "set");
    EXPECT_EQ(all(id), "ann & bob,fish,whale");
    EXPECT_EQ(body_of(answer_beside("POST", "/drop", "/set")), "gone");
    EXPECT_EQ(all(id), ",fish,whale");
}

TEST_F(TwoRequestsOfASession, ARenewTakesAlongWhatTheOtherSet) {
    const std::string answer = answer_beside("POST", "/renew", "/set");
    EXPECT_EQ(all(id_of(answer)), "ann & bob,fish,");
    EXPECT_EQ(all(id), ",,");
}

// It must write the end alone.
TEST_F(TwoRequestsOfASession, AUseUndoesNoChange) {
    world.advance(100s);  // so that the next use writes
    answer_beside("GET", "/", "/set");
    EXPECT_EQ(all(id), "ann & bob,fish,");
}

TEST_F(TwoRequestsOfASession, BothPagesHaveGoodTokens) {
    const std::string first = body_of(answer_beside("POST", "/token", "/token"));
    for (const std::string& token : {first, body_of(after)}) {
        EXPECT_EQ(body_of(ask("POST", "/checked",
                              "Cookie: __Host-id=" + id + "\r\nX-CSRF-Token: " + token + "\r\n")),
                  "passed");
    }
}

TEST_F(TwoRequestsOfASession, AHandlerThatGoesOnSeesNoValues) {
    EXPECT_EQ(body_of(answer_beside("POST", "/careless", "/logout")), "[]");
    EXPECT_EQ(late->inner.size(), 0u);
}

TEST_F(TwoRequestsOfASession, AUseDoesNotBringItBack) {
    world.advance(100s);  // so that the next use writes
    EXPECT_EQ(body_of(answer_beside("GET", "/", "/logout")), "[]");
    EXPECT_EQ(late->inner.size(), 0u);
}

TEST_F(TwoRequestsOfASession, TheOldIdOfALogInStaysEnded) {
    EXPECT_EQ(status_of(answer_beside("POST", "/set", "/login")), "409");
    EXPECT_EQ(body_of(ask_with("GET", "/", id)), "[]");
    EXPECT_EQ(body_of(ask_with("GET", "/", id_of(after))), "[ann & bob]");
    EXPECT_EQ(late->inner.size(), 1u);
}

TEST_F(TwoRequestsOfASession, ARenewAfterALogOutHasNoValues) {
    const std::string answer = answer_beside("POST", "/renew", "/logout");
    EXPECT_EQ(body_of(answer), "[]");
    EXPECT_EQ(body_of(ask_with("GET", "/", id_of(answer))), "[]");
}

TEST_F(TwoRequestsOfASession, ASecondLogInWorksToo) {
    const std::string answer = answer_beside("POST", "/login", "/login");
    EXPECT_EQ(body_of(answer), "in");
    EXPECT_EQ(body_of(ask_with("GET", "/", id_of(answer))), "[ann & bob]");
}

}  // namespace
}  // namespace tiderace::http
