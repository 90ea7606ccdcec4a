// Sessions whose store is waited for no longer: the values are as the store has them.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/session.h"
#include "tiderace/task/within.h"

namespace tiderace::http {
namespace {

// Does not answer a replace() while `hangs`, and fails a take() while it `breaks`.
class HangingStore final : public SessionStore {
  public:
    task::Task<std::optional<Found>> load(std::string key, UnixSeconds now) override {
        return inner_.load(std::move(key), now);
    }
    task::Task<> save(std::string key, std::string data, UnixSeconds expires) override {
        return inner_.save(std::move(key), std::move(data), expires);
    }
    task::Task<Replaced> replace(std::string key, std::string before, std::string data,
                                 UnixSeconds expires) override {
        if (hangs) co_await task::sleep(1h);
        const Replaced done =
            co_await inner_.replace(std::move(key), std::move(before), std::move(data), expires);
        co_return done;
    }
    task::Task<bool> prolong(std::string key, UnixSeconds expires) override {
        return inner_.prolong(std::move(key), expires);
    }
    task::Task<std::optional<std::string>> take(std::string key) override {
        if (breaks) throw std::runtime_error("the store is away");
        return inner_.take(std::move(key));
    }

    bool hangs = false;
    bool breaks = false;  // a take() throws

  private:
    MemorySessions inner_{3};
};

class SessionEndsTest : public AppTest {
  protected:
    SessionEndsTest() {
        app.use(sessions(store));
        app.get<"/">([](Session session) { return std::string(session.get("user")); });
        app.post<"/login">([](Session session) -> task::Task<std::string> {
            co_await session.set("user", "ann");
            co_return "in";
        });
    }
    // In a session of its own; then what the store has.
    std::string then(std::string_view path) {
        const std::string login = ask("POST", "/login");
        const std::size_t at = login.find("__Host-id=");
        const std::string cookie = "Cookie: " + login.substr(at, login.find(';', at) - at) + "\r\n";
        const std::string answer = body_of(ask("POST", path, cookie));
        return answer + ", kept: " + body_of(ask("GET", "/", cookie));
    }

    std::shared_ptr<HangingStore> store = std::make_shared<HangingStore>();
};

TEST_F(SessionEndsTest, ASetThatIsNotWaitedForIsTakenBackAndMayBeTriedAgain) {
    app.post<"/change">([this](Session session) -> task::Task<std::string> {
        store->hangs = true;
        const auto done = co_await task::within(1s, session.set("user", "bob"));
        store->hangs = false;
        std::string seen = (done ? "in time: " : "late: ") + std::string(session.get("user"));
        co_await session.set("user", "bob");
        co_return seen;
    });
    EXPECT_EQ(then("/change"), "late: ann, kept: bob");
}

TEST_F(SessionEndsTest, AnEraseThatIsNotWaitedForIsTakenBackAndMayBeTriedAgain) {
    app.post<"/erase">([this](Session session) -> task::Task<std::string> {
        store->hangs = true;
        const auto done = co_await task::within(1s, session.erase("user"));
        store->hangs = false;
        std::string seen = (done ? "in time: " : "late: ") + std::string(session.get("user"));
        co_await session.erase("user");
        co_return seen;
    });
    EXPECT_EQ(then("/erase"), "late: ann, kept: ");
}

// The browser would otherwise lose the only way to the session, which is still there.
TEST_F(SessionEndsTest, AnEndThatFailsLeavesTheCookieThatThisRequestProlongs) {
    app.post<"/logout">([](Session session) -> task::Task<> { co_await session.end(); });
    app.post<"/renew">([](Session session) -> task::Task<> { co_await session.renew(); });
    const std::string login = ask("POST", "/login");
    const std::size_t at = login.find("__Host-id=");
    const std::string cookie = login.substr(at, login.find(';', at) - at);
    world.advance(24h);
    for (const char* const path : {"/logout", "/renew"}) {
        store->breaks = true;
        const std::string answer = ask("POST", path, "Cookie: " + cookie + "\r\n");
        EXPECT_EQ(status_of(answer), "500") << path;
        EXPECT_NE(answer.find("Set-Cookie: " + cookie + "; Path=/; Max-Age=1209600;"),
                  std::string::npos)
            << answer;
        world.advance(24h);
    }
    store->breaks = false;
    EXPECT_EQ(body_of(ask("GET", "/", "Cookie: " + cookie + "\r\n")), "ann");
}

}  // namespace
}  // namespace tiderace::http
