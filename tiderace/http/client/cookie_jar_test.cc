#include "tiderace/http/client/cookie_jar.h"

#include <gtest/gtest.h>

namespace tiderace::http {
namespace {

constexpr UnixSeconds now = 1'000'000'000;  // 2001-09-09 01:46:40
constexpr CookieOrigin secure_a{true, "a.example", "/"};
constexpr CookieOrigin clear_a{false, "a.example", "/"};

std::string kept(const char* set_cookie, const CookieOrigin& from = secure_a,
                 const CookieOrigin& to = secure_a) {
    CookieJar jar;
    jar.keep(from, set_cookie, now);
    return jar.header(to, now);
}

TEST(CookieJar, ACookieGoesBackToItsHostAlone) {
    EXPECT_EQ(kept("a=1"), "a=1");
    EXPECT_EQ(kept(" a = 1 ;Path=/ "), "a=1");
    EXPECT_EQ(kept("a=\"x y=z\""), "a=\"x y=z\"");
    EXPECT_EQ(kept("a="), "a=");
    for (const char* nothing : {"", "a", "=1", ";a=1", "a=1\r\nb", "a=\x01"}) {
        EXPECT_EQ(kept(nothing), "") << nothing;
    }
    EXPECT_EQ(kept("a=1", secure_a, {true, "b.a.example", "/"}), "");
    EXPECT_EQ(kept("a=1", secure_a, {true, "xa.example", "/"}), "");
    EXPECT_EQ(kept("a=1", secure_a, {true, "example", "/"}), "");
}

TEST(CookieJar, ADomainWidensToSubdomainsButNotToOthers) {
    const CookieOrigin sub{true, "b.a.example", "/"};
    EXPECT_EQ(kept("a=1; Domain=.A.Example", sub), "a=1");
    EXPECT_EQ(kept("a=1; Domain=a.example", sub, sub), "a=1");
    EXPECT_EQ(kept("a=1; Domain=a.example", secure_a, sub), "a=1");
    EXPECT_EQ(kept("a=1; Domain=a.example", secure_a, {true, "xa.example", "/"}), "");
    EXPECT_EQ(kept("a=1; Domain=b.a.example", secure_a), "");  // not its own
    EXPECT_EQ(kept("a=1; Domain=example", secure_a), "");      // one label
    EXPECT_EQ(kept("a=1; Domain=other.example", secure_a), "");
    const CookieOrigin address{true, "127.0.0.1", "/"};
    EXPECT_EQ(kept("a=1; Domain=0.0.1", address, address), "");
    EXPECT_EQ(kept("a=1; Domain=127.0.0.1", address, address), "a=1");
    const CookieOrigin local{true, "localhost", "/"};
    EXPECT_EQ(kept("a=1; Domain=localhost", local, local), "a=1");
    EXPECT_EQ(kept("a=1; Domain=localhost", local, {true, "x.localhost", "/"}), "");
}

TEST(CookieJar, APathIsAPrefixOfWholeSegments) {
    const auto at = [](const char* path) { return CookieOrigin{true, "a.example", path}; };
    EXPECT_EQ(kept("a=1; Path=/x", secure_a, at("/x")), "a=1");
    EXPECT_EQ(kept("a=1; Path=/x", secure_a, at("/x/y")), "a=1");
    EXPECT_EQ(kept("a=1; Path=/x", secure_a, at("/xy")), "");
    EXPECT_EQ(kept("a=1; Path=/x/", secure_a, at("/x")), "");
    EXPECT_EQ(kept("a=1", at("/x/y"), at("/x")), "a=1");  // the default: up to the last slash
    EXPECT_EQ(kept("a=1", at("/x/y"), at("/")), "");
    EXPECT_EQ(kept("a=1; Path=x", at("/x"), at("/")), "a=1");
    CookieJar jar;
    jar.keep(secure_a, "a=1", now);
    jar.keep(secure_a, "b=2; Path=/x", now);
    jar.keep(secure_a, "c=3", now);
    EXPECT_EQ(jar.header(at("/x"), now), "b=2; a=1; c=3");  // longer paths first, then older ones
}

TEST(CookieJar, SecureCookiesStayOffConnectionsInClear) {
    EXPECT_EQ(kept("a=1; Secure", secure_a, clear_a), "");
    EXPECT_EQ(kept("a=1; Secure", clear_a, secure_a), "");
    EXPECT_EQ(kept("a=1", secure_a, clear_a), "a=1");
    CookieJar jar;
    jar.keep(secure_a, "a=1; Secure", now);
    jar.keep(clear_a, "a=2", now);
    jar.keep({false, "b.a.example", "/"}, "a=3; Domain=a.example", now);
    EXPECT_EQ(jar.header(secure_a, now), "a=1");
    EXPECT_EQ(jar.size(), 1U);
}

TEST(CookieJar, PrefixesAreKept) {
    EXPECT_EQ(kept("__Host-a=1; Secure; Path=/"), "__Host-a=1");
    EXPECT_EQ(kept("__host-a=1; Path=/"), "");
    EXPECT_EQ(kept("__Host-a=1; Secure; Path=/x", secure_a, {true, "a.example", "/x"}), "");
    EXPECT_EQ(kept("__Host-a=1; Secure; Path=/; Domain=a.example"), "");
    EXPECT_EQ(kept("__Host-a=1; Secure"), "") << "its path has to be named";
    EXPECT_EQ(kept("__Secure-a=1; Secure"), "__Secure-a=1");
    EXPECT_EQ(kept("__SECURE-a=1"), "");
}

TEST(CookieJar, CookiesExpireAndAreTakenBack) {
    CookieJar jar;
    jar.keep(secure_a, "a=1; Max-Age=10; Expires=Wed, 21 Oct 1998 07:28:00 GMT", now);
    jar.keep(secure_a, "b=2; Expires=Sun, 09-Sep-2001 01:46:45 GMT", now);
    jar.keep(secure_a, "c=3; Max-Age=x", now);
    EXPECT_EQ(jar.header(secure_a, now), "a=1; b=2; c=3");
    EXPECT_EQ(jar.header(secure_a, now + 5), "a=1; c=3");
    EXPECT_EQ(jar.header(secure_a, now + 9), "a=1; c=3");
    EXPECT_EQ(jar.header(secure_a, now + 10), "c=3");
    jar.keep(secure_a, "a=; Max-Age=0", now);
    jar.keep(secure_a, "b=; Max-Age=-99999999999999999999", now);
    EXPECT_EQ(jar.size(), 1U);
    jar.keep(secure_a, "c=4; Max-Age=99999999999999999999", now);
    EXPECT_EQ(jar.find("c"), "4");
    EXPECT_EQ(jar.header(secure_a, now + UnixSeconds{400} * 86'400), "");
}

TEST(CookieJar, WhatItKeepsIsBounded) {
    CookieJar jar;
    jar.keep(secure_a, "big=" + std::string(CookieJar::cookie_bytes_max - 3, 'x'), now);
    EXPECT_EQ(jar.size(), 1U);
    jar.keep(secure_a, "big2=" + std::string(CookieJar::cookie_bytes_max - 3, 'x'), now);
    EXPECT_EQ(jar.size(), 1U);
    jar.clear();
    for (int i = 0; i < 60; ++i) jar.keep(secure_a, std::to_string(i) + "=x", now);
    EXPECT_EQ(jar.size(), CookieJar::cookies_per_domain_max);
    EXPECT_EQ(jar.find("9"), "");
    EXPECT_EQ(jar.find("10"), "x");
    for (int i = 0; i < 1'100; ++i) {
        const std::string host = "h" + std::to_string(i) + ".example";
        jar.keep({true, host, "/"}, "a=1", now);
    }
    EXPECT_EQ(jar.size(), CookieJar::cookies_max);
}

// An attacker on a connection in clear could otherwise put a cookie in the place of a secure one.
TEST(CookieJar, AFloodInClearPushesOutNoSecureCookie) {
    CookieJar jar;
    jar.keep(secure_a, "id=good; Secure", now);
    jar.keep(secure_a, "old=x; Max-Age=1", now);
    for (int i = 0; i < 2'000; ++i) jar.keep(clear_a, std::to_string(i) + "=x", now + 2);
    jar.keep(clear_a, "id=planted", now + 2);
    EXPECT_EQ(jar.find("id"), "good");
    EXPECT_EQ(jar.find("1999"), "x") << "the newest of them";
    EXPECT_EQ(jar.size(), CookieJar::cookies_per_domain_max);
    for (int i = 0; i < 2'000; ++i) {
        const std::string host = "h" + std::to_string(i) + ".example";
        jar.keep({false, host, "/"}, "a=1", now + 2);
    }
    EXPECT_EQ(jar.find("id"), "good");
    EXPECT_EQ(jar.size(), CookieJar::cookies_max);
    // Among themselves the oldest goes, and an expired one before it.
    jar.clear();
    for (int i = 0; i < 50; ++i) {
        jar.keep(secure_a, std::to_string(i) + (i == 7 ? "=x; Secure; Max-Age=1" : "=x; Secure"),
                 now);
    }
    jar.keep(secure_a, "next=x; Secure", now + 2);
    EXPECT_EQ(jar.find("0"), "x");
    jar.keep(secure_a, "last=x; Secure", now + 2);
    EXPECT_EQ(jar.find("0"), "");
    EXPECT_EQ(jar.find("1"), "x");
    jar.keep(clear_a, "clear=x", now + 2);
    EXPECT_EQ(jar.find("clear"), "") << "all others are secure";
    EXPECT_EQ(jar.find("1"), "x");
}

TEST(CookieJar, DatesAreReadAsForgivinglyAsTheRfcAsks) {
    const struct {
        const char* text;
        UnixSeconds date;
    } good[] = {
        {"Sun, 09 Sep 2001 01:46:40 GMT", now},  {"Sunday, 09-Sep-01 01:46:40 GMT", now},
        {"Sun Sep  9 01:46:40 2001", now},       {"2001 september 9 1:46:40x", now},
        {"01:46:40 9 sep 2001 9 aug 1999", now}, {"1 Jan 70 00:00:00", 0},
        {"1 Jan 69 00:00:00", 3'124'224'000},
    };
    for (const auto& c : good) {
        UnixSeconds date = -1;
        EXPECT_TRUE(parse_cookie_date(c.text, date)) << c.text;
        EXPECT_EQ(date, c.date) << c.text;
    }
    for (const char* bad : {"", "Sun, 09 Sep 2001", "Sun, 31 Feb 2001 01:46:40", "01:46:40 9 2001",
                            "9 Sep 1600 01:46:40", "9 Sep 2001 24:46:40", "9 Sep 2001 01:60:40",
                            "9 Sep 2001 01:46", "9 Sep 2001 001:46:40", "9 Sep 20011 01:46:40"}) {
        UnixSeconds date = -1;
        EXPECT_FALSE(parse_cookie_date(bad, date)) << bad;
    }
}

}  // namespace
}  // namespace tiderace::http
