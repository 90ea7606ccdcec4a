// What every SessionStore that nodes share has to do, for the tests of each.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tiderace/app.h"
#include "tiderace/http/app/session_store.h"
#include "tiderace/testing.h"

namespace tiderace::http {

inline constexpr UnixSeconds later = 4'000'000'000;
inline constexpr UnixSeconds now = 2'000'000'000;

inline char word_of(SessionStore::Replaced done) {
    if (done == SessionStore::Replaced::done) return 'D';
    return done == SessionStore::Replaced::changed ? 'C' : 'G';
}

// All operations, of which `use_log` is what a store reports.
inline Task<std::string> use_store(SessionStore& store) {
    std::string log;
    const auto add = [&](const std::optional<SessionStore::Found>& found) {
        log += (found ? found->text + "@" + std::to_string(found->expires) : "none") + " ";
    };
    auto found = co_await store.load("key", now);
    add(found);
    auto done = co_await store.replace("key", "", "back", later);
    log += word_of(done);
    co_await store.save("key", "a=1", later);
    found = co_await store.load("key", now);
    add(found);
    found = co_await store.load("key", later);
    add(found);
    done = co_await store.replace("key", "a=1", "a=1", later);  // nothing that changes
    log += word_of(done);
    done = co_await store.replace("key", "A=1", "a=2", later);
    log += word_of(done);
    done = co_await store.replace("key", "a=1 ", "a=3", later);
    log += word_of(done);
    done = co_await store.replace("key", "a=1", "a=4", later + 1);
    log += word_of(done);
    found = co_await store.load("key", now);
    add(found);
    bool there = co_await store.prolong("key", later + 2);
    log += there ? 'y' : 'n';
    there = co_await store.prolong("other", later + 2);
    log += there ? 'y' : 'n';
    co_await store.save("key", "b=5", later + 3);
    found = co_await store.load("key", now);
    add(found);
    std::string large(SessionStore::data_bytes_max - 2, 'x');
    large.insert(0, "l=");
    co_await store.save("large", large, later);
    const auto same = co_await store.take("large");
    log += same == large ? 'L' : 'l';
    auto taken = co_await store.take("key");
    log += taken.value_or("none") + " ";
    taken = co_await store.take("key");
    log += taken.value_or("none") + " ";
    there = co_await store.prolong("key", later);
    log += there ? 'y' : 'n';
    done = co_await store.replace("key", "b=5", "b=6", later);
    log += word_of(done);
    found = co_await store.load("key", now);
    add(found);
    co_return log;
}
inline constexpr std::string_view use_log =
    "none Ga=1@4000000000 none DCCDa=4@4000000001 ynb=5@4000000003 Lb=5 none nGnone ";

// Routes over a store, and browsers that have the same session.
inline void add_session_routes(App& app, std::shared_ptr<SessionStore> store) {
    app.use(sessions(std::move(store)));
    app.post<"/login">([](Session session) -> Task<std::string> {
        co_await session.renew();
        co_await session.set("user", "ann");
        co_return "in";
    });
    app.post<"/logout">([](Session session) -> Task<std::string> {
        co_await session.end();
        co_return "out";
    });
    app.get<"/user">([](Session session) { return std::string(session.get("user")); });
}

inline void expect_sessions(const App& app) {
    testing::Client client(app);
    EXPECT_EQ(client.get("/user").text(), "");
    EXPECT_EQ(client.post("/login").text(), "in");
    EXPECT_EQ(client.get("/user").text(), "ann");
    EXPECT_EQ(client.post("/login").text(), "in") << "under a new id";
    EXPECT_EQ(client.get("/user").text(), "ann");
    EXPECT_EQ(client.post("/logout").text(), "out");
    EXPECT_EQ(client.get("/user").text(), "");
}

// Adds to the session, as a request does (session.cc), among others that do the same.
inline Task<> add_to(SessionStore& store, std::string word) {
    for (;;) {
        const auto found = co_await store.load("key", now);
        const std::string more = found->text + word;
        const auto done = co_await store.replace("key", found->text, more, later);
        if (done == SessionStore::Replaced::done) co_return;
    }
}
// How many of twenty writers at once the session has in the end.
inline Task<std::size_t> writes_kept(SessionStore& store) {
    co_await store.save("key", "", later);
    Scope scope;
    for (char letter = 'a'; letter < 'a' + 20; ++letter) {
        scope.spawn(add_to(store, std::string(1, letter)));
    }
    co_await scope.join();
    const auto found = co_await store.load("key", now);
    std::string text = found->text;
    std::ranges::sort(text);
    EXPECT_EQ(text, "abcdefghijklmnopqrst");
    co_return text.size();
}

// Whose store cannot be reached: 503, and the browser keeps its cookie.
inline void expect_unavailable(const App& app) {
    testing::Client client(app, {.log = log::Level::off});
    const Headers cookie{{"Cookie", "__Host-id=" + std::string(64, 'a')}};
    for (const auto& answer : {client.get("/user", cookie), client.post("/login", {}, cookie),
                               client.post("/logout", {}, cookie), client.post("/login")}) {
        EXPECT_EQ(answer.status, 503);
        EXPECT_EQ(answer.headers.find("Set-Cookie"), "");
    }
}

}  // namespace tiderace::http
