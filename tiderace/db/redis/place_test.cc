#include "tiderace/db/redis/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tiderace/db/error.h"

namespace tiderace::db::redis {
namespace {

TEST(Place, EachFormIsRead) {
    const Place all = Place::parse("redis://me:pass%40word@example.org:7000/3");
    EXPECT_EQ(all.user, "me");
    EXPECT_EQ(all.password, "pass@word");
    EXPECT_EQ(all.address(), "example.org:7000");
    EXPECT_EQ(all.database, 3U);
    EXPECT_FALSE(all.tls);
    EXPECT_EQ(Place::parse("redis://localhost").address(), "localhost:6379");
    EXPECT_EQ(Place::parse("redis://[::1]/").address(), "[::1]:6379");
    EXPECT_TRUE(Place::parse("rediss://localhost").tls);
    EXPECT_TRUE(Place::parse("valkeys://localhost").tls);
    EXPECT_FALSE(Place::parse("valkey://localhost").tls);
    const Place path = Place::parse("unix:/run/redis%20one.sock?db=2&password=x%26y&user=me");
    EXPECT_EQ(path.address(), "unix:/run/redis one.sock");
    EXPECT_EQ(path.database, 2U);
    EXPECT_EQ(path.password, "x&y");
    EXPECT_EQ(path.user, "me");
}

TEST(Place, WhatIsWrongIsSaidWithoutThePassword) {
    for (const char* url :
         {"", "redis", "redis:", "redis:/x", "http://x", "redis://", "redis://:secret@",
          "unix:", "redis://u:secret@x:0", "redis://u:secret@x:70000", "redis://u:secret@x/a",
          "unix:/x?secret", "unix:/x?db=secret", "redis://[::1", "redis://u:secret%4@x"}) {
        try {
            (void)Place::parse(url);
            ADD_FAILURE() << url;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), Fault::configuration);
            EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("secret")));
        }
    }
}

TEST(Place, ItIsShownWithoutThePassword) {
    EXPECT_EQ(Place::parse("redis://me:secret@x:7000/3").shown(), "redis://me@x:7000/3");
    EXPECT_EQ(Place::parse("rediss://:secret@x").shown(), "rediss://x:6379");
    EXPECT_EQ(Place::parse("unix:/x.sock?db=1&password=secret").shown(), "unix:/x.sock?db=1");
}

}  // namespace
}  // namespace tiderace::db::redis
