#include "tiderace/http/app/signed/cookie_keys.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/app/app_fixture.h"

namespace tiderace::http {
namespace {

const std::string old_key(32, 'o');
const std::string new_key(32, 'n');

TEST(CookieKeys, WhatWasSignedIsVerified) {
    const CookieKeys keys({new_key});
    for (const std::string value : {"", "dark", "a.b.c", "x=y"}) {
        EXPECT_EQ(keys.verify("theme", keys.sign("theme", value)), value);
    }
}

TEST(CookieKeys, NoByteCanBeChanged) {
    const CookieKeys keys({new_key});
    const std::string good = keys.sign("user", "7");
    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string bad = good;
        bad[i] ^= 1;
        EXPECT_FALSE(keys.verify("user", bad)) << i;
        EXPECT_FALSE(keys.verify("user", std::string_view(good).substr(0, i))) << i;
    }
    EXPECT_FALSE(keys.verify("user", good + "0"));
    EXPECT_FALSE(keys.verify("user", "1" + good));
}

TEST(CookieKeys, AnotherNameOrKeyIsNoneOfOurs) {
    const CookieKeys keys({new_key});
    EXPECT_FALSE(keys.verify("admin", keys.sign("user", "7")));
    EXPECT_FALSE(keys.verify("user", CookieKeys({old_key}).sign("user", "7")));
    // The border between name and value is signed, too.
    EXPECT_FALSE(keys.verify("use", "r" + keys.sign("user", "")));
}

TEST(CookieKeys, AnOldKeyVerifiesAndTheNewestSigns) {
    const CookieKeys before({old_key});
    const CookieKeys rotated({new_key, old_key});
    const CookieKeys after({new_key});
    EXPECT_EQ(rotated.verify("user", before.sign("user", "7")), "7");
    EXPECT_EQ(after.verify("user", rotated.sign("user", "7")), "7");
    EXPECT_FALSE(after.verify("user", before.sign("user", "7")));
}

TEST(CookieKeysDeathTest, AShortKeyAndNoneAbort) {
    EXPECT_DEATH(CookieKeys({}), "needs a key");
    EXPECT_DEATH(CookieKeys({std::string(31, 'x')}), "at least 32 bytes");
}

class SignedCookieTest : public AppTest {};

TEST_F(SignedCookieTest, GoesToTheClientAndComesBack) {
    const CookieKeys keys({new_key});
    app.get<"/">([&](Cookies cookies) {
        return Response()
            .cookie({.name = "user", .value = keys.sign("user", "ann")})
            .text("[" + std::string(keys.get(cookies, "user").value_or("nobody")) + "]");
    });
    const std::string first = get("/");
    EXPECT_EQ(body_of(first), "[nobody]");
    const std::size_t at = first.find("user=");
    ASSERT_NE(at, std::string::npos) << first;
    const std::string cookie = first.substr(at, first.find(';', at) - at);
    EXPECT_EQ(body_of(ask("GET", "/", "Cookie: " + cookie + "\r\n")), "[ann]");
    EXPECT_EQ(body_of(ask("GET", "/", "Cookie: user=ann\r\n")), "[nobody]");
    std::string forged = cookie;
    forged.replace(forged.find("ann"), 3, "bob");
    EXPECT_EQ(body_of(ask("GET", "/", "Cookie: " + forged + "\r\n")), "[nobody]");
}

}  // namespace
}  // namespace tiderace::http
