#include "tiderace/db/url.h"

#include <gtest/gtest.h>

#include "tiderace/db/error.h"

namespace tiderace::db {
namespace {

TEST(Url, SqliteHasAPath) {
    EXPECT_EQ(Url::parse("sqlite:a b?.db").path, "a b?.db");
    EXPECT_EQ(Url::parse("sqlite::memory:").path, ":memory:");
    EXPECT_EQ(Url::parse("sqlite:/x.db").shown(), "sqlite:/x.db");
}

TEST(Url, AServerHasAHostAndAnAccount) {
    const Url url = Url::parse("postgres://ada:p%40ss%3A@db.example:7000/tidepool?tls=verify");
    EXPECT_EQ(url.dialect, Dialect::postgres);
    EXPECT_EQ(url.user, "ada");
    EXPECT_EQ(url.password, "p@ss:");
    EXPECT_EQ(url.host, "db.example");
    EXPECT_EQ(url.port, 7000);
    EXPECT_EQ(url.name, "tidepool");
    EXPECT_EQ(url.tls, Tls::verify);
    EXPECT_EQ(url.shown(), "postgres://ada@db.example:7000/tidepool");
    EXPECT_EQ(Url::parse("mysql://x/y?tls=verify&ca=/etc/a%26b.pem").ca, "/etc/a&b.pem");
    EXPECT_EQ(Url::parse("mysql://[::1]/x").host, "::1");
    EXPECT_EQ(Url::parse("mysql://[::1]/x").port, 3306);
}

TEST(Url, AServerMayBeAtAUnixSocket) {
    const Url url = Url::parse("postgresql://ada@/tidepool?socket=/run/pg%20sql");
    EXPECT_EQ(url.socket, "/run/pg sql");
    EXPECT_EQ(url.host, "");
}

TEST(Url, WhatIsNoneIsRefusedWithoutItsPassword) {
    for (const auto text :
         {"", "tidepool.db", "sqlite:", "redis://x/y", "postgres:x/y", "postgres://x",
          "postgres://x/", "postgres:///x", "postgres://x:0/y", "postgres://x:99999/y",
          "postgres://[x/y", "postgres://x/y?z=1", "postgres://a:se%cret@x/y",
          "postgres://x/y?socket=/z", "postgres://x/y?ca=/z", "mysql://x/y?tls=require&ca=/z"}) {
        try {
            Url::parse(text);
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), Fault::configuration) << text;
            EXPECT_EQ(std::string(error.what()).find("cret"), std::string::npos) << text;
        }
    }
}

}  // namespace
}  // namespace tiderace::db
