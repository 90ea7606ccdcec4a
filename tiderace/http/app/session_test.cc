#include "tiderace/http/app/session.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/http/app/session_fixture.h"
#include "tiderace/http/wire/sha256.h"

namespace tiderace::http {
namespace {

TEST_F(SessionTest, IsMadeAtTheFirstSetAndKept) {
    serve_sessions();
    EXPECT_EQ(set_cookie(get("/")), "") << "a visitor has none";
    EXPECT_EQ(store->size(), 0u);
    const std::string login = ask("POST", "/login");
    const std::string id = id_of(login);
    EXPECT_EQ(id.size(), 64u);
    EXPECT_EQ(set_cookie(login),
              "__Host-id=" + id + "; Path=/; Max-Age=1209600; Secure; HttpOnly; SameSite=Lax");
    EXPECT_NE(login.find("Cache-Control: private, no-cache\r\n"), std::string::npos);
    EXPECT_EQ(body_of(ask_with("GET", "/", id)), "[ann & bob]");
    EXPECT_EQ(store->size(), 1u);
    EXPECT_EQ(body_of(get("/")), "[]") << "another browser";
}

TEST_F(SessionTest, AnAnswerThatDependsOnItIsThisBrowsersAlone) {
    serve_sessions();
    app.get<"/public">([] { return "the same for all"; });
    app.get<"/own">([](Session) { return Response().header("cache-control", "max-age=9"); });
    app.get<"/fails">([](Session) -> std::string { throw Problem{.status = 404}; });
    app.group("/members").use(signed_in("user", Redirect{"/login"})).get<"/">([] { return "hi"; });
    const std::string id = id_of(ask("POST", "/login"));
    for (const std::string& who : {std::string(), id}) {
        for (const char* const path : {"/", "/fails", "/members"}) {
            const std::string answer = ask_with("GET", path, who);
            EXPECT_NE(answer.find("Cache-Control: private, no-cache\r\n"), std::string::npos);
            EXPECT_EQ(set_cookie(answer), "") << answer;
        }
        EXPECT_EQ(ask_with("GET", "/public", who).find("Cache-Control"), std::string::npos);
        const std::string own = ask_with("GET", "/own", who);
        EXPECT_NE(own.find("Cache-Control: max-age=9\r\n"), std::string::npos) << own;
    }
}

TEST_F(SessionTest, RenewingNoneMakesNone) {
    serve_sessions();
    app.post<"/renew">([](Session session) -> task::Task<> { co_await session.renew(); });
    EXPECT_EQ(set_cookie(ask("POST", "/renew")), "") << "the first set() makes it";
    EXPECT_EQ(store->size(), 0u);
    const std::string unknown = ask_with("POST", "/renew", std::string(64, 'a'));
    EXPECT_TRUE(set_cookie(unknown).starts_with("__Host-id=; Path=/; Max-Age=0;")) << unknown;
    EXPECT_EQ(store->size(), 0u);
}

TEST_F(SessionTest, AnIdOfAClientsOwnIsNeverTakenOver) {
    serve_sessions();
    const std::string forged(64, 'a');
    const std::string login = ask_with("POST", "/login", forged);
    EXPECT_NE(id_of(login), forged);
    EXPECT_EQ(body_of(ask_with("GET", "/", forged)), "[]");
    EXPECT_TRUE(
        set_cookie(ask_with("GET", "/", forged)).starts_with("__Host-id=; Path=/; Max-Age=0;"));
    for (const std::string& bad : {std::string("x"), std::string(64, 'G'), std::string(65, 'a'),
                                   std::string("../../etc/passwd"), std::string(3'000, 'a')}) {
        EXPECT_EQ(body_of(ask_with("GET", "/", bad)), "[]") << bad;
    }
    EXPECT_EQ(store->size(), 1u);
}

TEST_F(SessionTest, OnlyDigitsAndLettersThatWeMakeAreLookedUp) {
    serve_sessions();
    for (const std::size_t place : {0, 15, 16, 31, 32, 62, 63}) {
        std::string id(64, 'b');
        const auto is_looked_up = [&](char c) {
            id[place] = c;
            return set_cookie(ask_with("GET", "/", id)) != "";  // it is unknown: forget it
        };
        for (const char c : std::string_view("019af")) {
            EXPECT_TRUE(is_looked_up(c)) << place << c;
        }
        for (const char c : std::string_view("/:@AF`gz~!")) {
            EXPECT_FALSE(is_looked_up(c)) << place << c;
        }
    }
}

TEST_F(SessionTest, ALogInGivesANewIdAndALogOutEndsIt) {
    serve_sessions();
    const std::string first = id_of(ask("POST", "/login"));
    const std::string second = id_of(ask_with("POST", "/login", first));
    EXPECT_NE(first, second);
    EXPECT_EQ(body_of(ask_with("GET", "/", first)), "[]") << "the old id is worth nothing";
    EXPECT_EQ(body_of(ask_with("GET", "/", second)), "[ann & bob]");
    const std::string out = ask_with("POST", "/logout", second);
    EXPECT_TRUE(set_cookie(out).starts_with("__Host-id=; Path=/; Max-Age=0;")) << out;
    EXPECT_EQ(body_of(ask_with("GET", "/", second)), "[]") << "on the server, too";
    EXPECT_EQ(store->size(), 0u);
}

TEST_F(SessionTest, ExpiresAfterItsLastUse) {
    serve_sessions({.lifetime = 60s});
    const std::string id = id_of(ask("POST", "/login"));
    for (int i = 0; i < 5; ++i) {
        world.advance(40s);
        EXPECT_EQ(body_of(ask_with("GET", "/", id)), "[ann & bob]") << i;
    }
    world.advance(61s);
    EXPECT_EQ(body_of(ask_with("GET", "/", id)), "[]");
    EXPECT_EQ(store->size(), 0u);
}

// Counts what is written, and keeps the keys.
class CountingStore final : public OverMemory {
  public:
    task::Task<> save(std::string key, std::string data, UnixSeconds expires) override {
        ++saves;
        last_key = key;
        return inner.save(std::move(key), std::move(data), expires);
    }
    task::Task<Replaced> replace(std::string key, std::string before, std::string data,
                                 UnixSeconds expires) override {
        ++saves;
        last_key = key;
        return inner.replace(std::move(key), std::move(before), std::move(data), expires);
    }
    task::Task<bool> prolong(std::string key, UnixSeconds expires) override {
        ++saves;
        last_key = key;
        return inner.prolong(std::move(key), expires);
    }

    int saves = 0;
    std::string last_key;
};

TEST_F(SessionTest, AUseThatChangesNothingWritesNothing) {
    const auto counting = std::make_shared<CountingStore>();
    app.use(sessions(counting, {.lifetime = 240s}));
    app.get<"/">([](Session session) { return "[" + std::string(session.get("user")) + "]"; });
    app.post<"/set">([](Session session) -> task::Task<std::string> {
        co_await session.set("user", "ann");
        co_return "set";
    });
    const std::string id = id_of(ask("POST", "/set"));
    EXPECT_EQ(counting->saves, 1);
    std::string sha256;
    for (const auto byte : wire::sha256(id)) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(byte));
        sha256 += digits;
    }
    EXPECT_EQ(counting->last_key, sha256);
    EXPECT_EQ(body_of(ask_with("POST", "/set", id)), "set") << "the same value";
    const std::string used = ask_with("GET", "/", id);
    EXPECT_EQ(body_of(used), "[ann]");
    EXPECT_EQ(set_cookie(used), "");
    EXPECT_EQ(counting->saves, 1);
    world.advance(11s);  // a 24th of the lifetime is 10 s
    EXPECT_NE(set_cookie(ask_with("GET", "/", id)), "");
    EXPECT_EQ(counting->saves, 2);
    world.advance(235s);
    EXPECT_EQ(body_of(ask_with("GET", "/", id)), "[ann]");
}

// Reads the user along with the session, as a database can in one statement.
class StoreWithUsers final : public OverMemory {
  public:
    struct User {
        std::string name;
    };
    task::Task<std::optional<Found>> load(std::string key, UnixSeconds now) override {
        auto found = co_await inner.load(std::move(key), now);
        if (found) found->attached = User{value_in(found->text, "user").value_or("nobody")};
        co_return found;
    }
};

std::string user_of(const Session& session) {
    const auto* const user = session.attached<StoreWithUsers::User>();
    return user != nullptr ? user->name : "none";
}

class AttachedTest : public SessionTest {
  protected:
    AttachedTest() {
        serve_sessions({.lifetime = 240s}, std::make_shared<StoreWithUsers>());
        app.get<"/user">([](Session session) { return user_of(session); });
        app.post<"/user">([](Session session) { return user_of(session); });
        app.get<"/other-type">([](Session session) {
            return std::string(session.attached<std::string>() == nullptr ? "none" : "some");
        });
        app.get<"/set">([](Session session) -> task::Task<std::string> {
            co_await session.set("user", "ann & bob");  // which it is already
            std::string users = user_of(session);
            co_await session.set("user", "eve");
            co_return users + "," + user_of(session);
        });
        app.get<"/renew">([](Session session) -> task::Task<std::string> {
            co_await session.renew();
            co_return user_of(session);
        });
        app.get<"/end">([](Session session) -> task::Task<std::string> {
            co_await session.end();
            co_return user_of(session);
        });
        id = id_of(ask("POST", "/login"));
    }
    std::string id;
};

TEST_F(AttachedTest, IsWhatTheStoreReadAlongWithTheSession) {
    EXPECT_EQ(body_of(ask_with("GET", "/user", id)), "ann & bob");
    EXPECT_EQ(body_of(ask_with("GET", "/other-type", id)), "none");
    EXPECT_EQ(body_of(get("/user")), "none") << "a visitor has no session";
    world.advance(100s);  // this use writes, too
    EXPECT_EQ(body_of(ask_with("GET", "/user", id)), "ann & bob");
}

// Its body may take as long as the client likes, and the user may be gone by then.
TEST_F(AttachedTest, IsNotThereForARequestWithABody) {
    EXPECT_EQ(body_of(ask_with("POST", "/user", id)), "none");
}

TEST_F(AttachedTest, GoesWithTheFirstChange) {
    EXPECT_EQ(body_of(ask_with("GET", "/set", id)), "ann & bob,none");
    EXPECT_EQ(body_of(ask_with("GET", "/user", id)), "eve");
    EXPECT_EQ(body_of(ask_with("GET", "/end", id)), "none");
    EXPECT_EQ(body_of(ask_with("GET", "/user", id)), "none");
}

TEST_F(AttachedTest, GoesWithTheOldId) {
    const std::string answer = ask_with("GET", "/renew", id);
    EXPECT_EQ(body_of(answer), "none");
    EXPECT_EQ(body_of(ask_with("GET", "/user", id_of(answer))), "ann & bob");
}

TEST_F(SessionTest, AFullStoreForgetsTheLongestUnused) {
    serve_sessions();
    const std::string first = id_of(ask("POST", "/login"));
    const std::string second = id_of(ask("POST", "/login"));
    const std::string third = id_of(ask("POST", "/login"));
    EXPECT_EQ(body_of(ask_with("GET", "/", first)), "[ann & bob]");
    ask("POST", "/login");
    EXPECT_EQ(store->size(), 3u);
    EXPECT_EQ(body_of(ask_with("GET", "/", second)), "[]");
    EXPECT_EQ(body_of(ask_with("GET", "/", first)), "[ann & bob]");
}

TEST_F(SessionTest, ASessionHasABound) {
    app.use(sessions(store));
    app.post<"/fill/{n}">([](std::size_t n, Session session) -> task::Task<std::string> {
        co_await session.set("x", std::string(n, 'x'));
        co_return std::to_string(session.get("x").size());
    });
    EXPECT_EQ(body_of(ask("POST", "/fill/16000")), "16000");
    EXPECT_EQ(status_of(ask("POST", "/fill/16384")), "413");
}

TEST_F(SessionTest, InClearTheCookieHasAnotherName) {
    serve_sessions({.secure = false});
    const std::string cookie = set_cookie(ask("POST", "/login"));
    EXPECT_TRUE(cookie.starts_with("id=")) << cookie;
    EXPECT_EQ(cookie.find("Secure"), std::string::npos);
}

TEST_F(SessionTest, WithoutItsMiddlewareIs500) {
    app.get<"/">([](Session session) { return std::string(session.get("user")); });
    EXPECT_EQ(status_of(get("/")), "500");
}

// A store that waits, and one that is broken.
class SlowStore final : public SessionStore {
  public:
    task::Task<std::optional<Found>> load(std::string, UnixSeconds) override {
        co_await task::sleep(1h);
        throw std::runtime_error("broken");
    }
    task::Task<> save(std::string, std::string, UnixSeconds) override {
        throw std::runtime_error("full");
        co_return;
    }
    task::Task<Replaced> replace(std::string, std::string, std::string, UnixSeconds) override {
        throw std::runtime_error("full");
        co_return Replaced::done;
    }
    task::Task<bool> prolong(std::string, UnixSeconds) override { co_return true; }
    task::Task<std::optional<std::string>> take(std::string) override { co_return ""; }
};

TEST_F(SessionTest, ABrokenStoreIs500AndASlowOneIsCancelled) {
    app.use(sessions(std::make_shared<SlowStore>()));
    app.post<"/set">([](Session session) -> task::Task<std::string> {
        try {
            co_await session.set("a", "1");
        } catch (const std::runtime_error&) {
            co_return session.has("a") ? "kept" : "not kept";
        }
        co_return "set";
    });
    EXPECT_EQ(body_of(ask("POST", "/set")), "not kept");
    EXPECT_EQ(status_of(ask_with("POST", "/set", std::string(64, 'a'))), "503");
    auto peer = connect();
    peer->say("POST /set HTTP/1.1\r\nHost: a\r\nCookie: __Host-id=" + std::string(64, 'a') +
              "\r\n\r\n");
    world.settle();
    peer->reset();
    world.advance(2h);
}

// Fails on demand.
class FailingStore final : public OverMemory {
  public:
    task::Task<std::optional<Found>> load(std::string key, UnixSeconds now) override {
        if (fails_load) throw std::runtime_error("cannot load");
        return inner.load(std::move(key), now);
    }
    task::Task<> save(std::string key, std::string data, UnixSeconds expires) override {
        if (fails_save) throw std::runtime_error("cannot save");
        return inner.save(std::move(key), std::move(data), expires);
    }
    task::Task<Replaced> replace(std::string key, std::string before, std::string data,
                                 UnixSeconds expires) override {
        if (fails_save) throw std::runtime_error("cannot save");
        return inner.replace(std::move(key), std::move(before), std::move(data), expires);
    }
    task::Task<bool> prolong(std::string key, UnixSeconds expires) override {
        if (fails_save) throw std::runtime_error("cannot save");
        return inner.prolong(std::move(key), expires);
    }
    task::Task<std::optional<std::string>> take(std::string key) override {
        if (fails_erase) throw std::runtime_error("cannot erase");
        return inner.take(std::move(key));
    }

    bool fails_load = false;
    bool fails_save = false;
    bool fails_erase = false;
};

class FailingSessionTest : public SessionTest {
  protected:
    FailingSessionTest() {
        app.use(sessions(failing));
        app.get<"/">([](Session session) {
            return std::string(session.get("user")) + "," + std::string(session.get("cart"));
        });
        app.post<"/cart">([](Session session) -> task::Task<std::string> {
            co_await session.set("cart", "fish");
            co_return "set";
        });
        app.post<"/login">([](Session session) -> task::Task<std::string> {
            co_await session.renew();
            co_await session.set("user", "ann");
            co_return "in";
        });
        // As a handler would that takes a failed renew() lightly.
        app.post<"/careless">([this](Session session) -> task::Task<std::string> {
            bool failed = false;
            try {
                co_await session.renew();
            } catch (const std::runtime_error&) {
                failed = true;
            }
            failing->fails_save = failing->fails_erase = false;
            co_await session.set("user", "ann");
            co_return failed ? "failed" : "renewed";
        });
        app.post<"/erase">([](Session session) -> task::Task<std::string> {
            try {
                co_await session.erase("cart");
            } catch (const std::runtime_error&) {
                co_return "still " + std::string(session.get("cart"));
            }
            co_return "gone";
        });
        app.post<"/first">([](Session session) -> task::Task<std::string> {
            try {
                co_await session.set("cart", "fish");
            } catch (const std::runtime_error&) {
                co_return session.exists() ? "exists" : "none";
            }
            co_return "set";
        });
        app.post<"/logout">([](Session session) -> task::Task<std::string> {
            co_await session.end();
            co_return "out";
        });
    }

    std::shared_ptr<FailingStore> failing = std::make_shared<FailingStore>();
};

TEST_F(FailingSessionTest, AStoreThatCannotBeReadLeavesTheCookie) {
    const std::string id = id_of(ask("POST", "/cart"));
    failing->fails_load = true;
    const std::string answer = ask_with("GET", "/", id);
    EXPECT_EQ(status_of(answer), "500");
    EXPECT_EQ(set_cookie(answer), "");
    failing->fails_load = false;
    EXPECT_EQ(body_of(ask_with("GET", "/", id)), ",fish");
}

TEST_F(FailingSessionTest, AnEraseThatIsNotSavedIsTakenBack) {
    const std::string id = id_of(ask("POST", "/cart"));
    failing->fails_save = true;
    EXPECT_EQ(body_of(ask_with("POST", "/erase", id)), "still fish");
    EXPECT_EQ(body_of(ask_with("GET", "/", id)), ",fish");
    failing->fails_save = false;
    EXPECT_EQ(body_of(ask_with("POST", "/erase", id)), "gone");
    EXPECT_EQ(body_of(ask_with("GET", "/", id)), ",");
}

TEST_F(FailingSessionTest, AFirstSetThatIsNotSavedMakesNoSession) {
    failing->fails_save = true;
    const std::string answer = ask("POST", "/first");
    EXPECT_EQ(body_of(answer), "none");
    EXPECT_EQ(set_cookie(answer), "");
}

TEST_F(FailingSessionTest, ARenewThatCannotEraseTheOldIdChangesNothing) {
    const std::string id = id_of(ask("POST", "/cart"));
    failing->fails_erase = true;
    const std::string answer = ask_with("POST", "/login", id);
    EXPECT_EQ(status_of(answer), "500");
    EXPECT_EQ(set_cookie(answer), "");
    EXPECT_EQ(failing->inner.size(), 1u);
    EXPECT_EQ(body_of(ask_with("GET", "/", id)), ",fish") << "with the rights that it had";
}

TEST_F(FailingSessionTest, ARenewThatCannotSaveTheNewIdEndsTheSession) {
    const std::string id = id_of(ask("POST", "/cart"));
    failing->fails_save = true;
    const std::string answer = ask_with("POST", "/login", id);
    EXPECT_EQ(status_of(answer), "500");
    EXPECT_TRUE(set_cookie(answer).starts_with("__Host-id=; Path=/; Max-Age=0;")) << answer;
    EXPECT_EQ(failing->inner.size(), 0u);
    failing->fails_save = false;
    EXPECT_EQ(body_of(ask_with("GET", "/", id)), ",");
}

TEST_F(FailingSessionTest, WhatIsSetAfterAFailedRenewNeverStandsUnderTheOldId) {
    for (bool FailingStore::* const fails :
         {&FailingStore::fails_save, &FailingStore::fails_erase}) {
        const std::string id = id_of(ask("POST", "/cart"));
        (*failing).*fails = true;
        const std::string answer = ask_with("POST", "/careless", id);
        EXPECT_EQ(body_of(answer), "failed");
        EXPECT_NE(id_of(answer), id);
        EXPECT_EQ(body_of(ask_with("GET", "/", id_of(answer))), "ann,fish");
        EXPECT_EQ(body_of(ask_with("GET", "/", id)), ",") << "somebody else may know the old id";
    }
}

TEST_F(FailingSessionTest, ALogOutThatCannotEraseIs500) {
    const std::string id = id_of(ask("POST", "/cart"));
    failing->fails_erase = true;
    EXPECT_EQ(status_of(ask_with("POST", "/logout", id)), "500");
    failing->fails_erase = false;
    EXPECT_EQ(body_of(ask_with("POST", "/logout", id)), "out");
    EXPECT_EQ(failing->inner.size(), 0u);
}

}  // namespace
}  // namespace tiderace::http
