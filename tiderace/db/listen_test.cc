#include "tiderace/db/listen.h"

#include <gtest/gtest.h>

#include "tiderace/db/database_fixture.h"

namespace tiderace::db {
namespace {

TEST(Listen, WhatIsNotifiedComesAlsoAfterTheServerWasRestarted) {
    const std::string missing = Server::missing(Dialect::postgres);
    if (!missing.empty()) GTEST_SKIP() << missing;
    Server& server = Server::shared(Dialect::postgres);
    task::run([](Server& runs, std::string url) -> Task<> {
        Database db = open(url);
        auto notes = listen(db, "posts");
        for (int round = 0; round < 2; ++round) {
            const auto ready = co_await within(20s, notes.next());
            EXPECT_TRUE(ready && *ready && (*ready)->payload.empty());
            co_await db.exec("notify posts, 'first'");
            co_await db.exec("notify posts, 'second'");
            const auto first = co_await within(20s, notes.next());
            EXPECT_TRUE(first && *first && (*first)->payload == "first");
            const auto second = co_await within(20s, notes.next());
            EXPECT_TRUE(second && *second && (*second)->payload == "second");
            if (round == 1) co_return;
            runs.kill();
            runs.start();
        }
    }(server, server.fresh("listen")));
}

TEST(Listen, APooledConnectionKeepsNoNotifications) {
    const std::string missing = Server::missing(Dialect::postgres);
    if (!missing.empty()) GTEST_SKIP() << missing;
    task::run([](std::string url) -> Task<> {
        Options options;
        options.connections_max = 1;
        Database db = open(url, options);
        EXPECT_EQ(co_await complaint_of(db.exec("listen posts")),
                  "what is sent to the channel would reach no task: use db::listen(db, channel)");
        EXPECT_EQ(co_await db.one<std::int64_t>("select count(*) from pg_listening_channels()"), 0);
    }(Server::shared(Dialect::postgres).fresh("listen")));
}

TEST(Listen, AnotherDatabaseAndAnotherNameAreRefused) {
    task::run([]() -> Task<> {
        auto notes = listen(open("sqlite::memory:"), "posts");
        auto named = listen(open("sqlite::memory:"), "Posts\"");
        auto next = [](task::Generator<Notification>& from) -> Task<> { co_await from.next(); };
        EXPECT_NE(co_await fault_of(next(notes)), Fault::connection_lost);
        EXPECT_EQ(co_await fault_of(next(named)), Fault::configuration);
    }());
}

}  // namespace
}  // namespace tiderace::db
