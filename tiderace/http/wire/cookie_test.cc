#include "tiderace/http/wire/cookie.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tiderace::http::wire {
namespace {

std::string parsed_cookies(ByteView field) {
    std::string out;
    for (CookiePairs pairs(field); auto pair = pairs.next();) {
        out += std::string(pair->name) + "=" + std::string(pair->value) + "|";
    }
    return out;
}

std::string rendered_cookie(const SetCookie& cookie) {
    std::array<char, set_cookie_bytes_max> memory;
    BoundedText out(memory);
    return append_set_cookie(out, cookie)
               ? std::string(out.view())
               : "fault: " + std::string(to_string(check_cookie(cookie)));
}

TEST(Cookie, PairsAreReadInOrder) {
    const struct {
        ByteView field;
        ByteView pairs;
    } cases[] = {
        {"", ""},
        {"a=1", "a=1|"},
        {"a=1; b=2", "a=1|b=2|"},
        {"a=1;b=2;", "a=1|b=2|"},
        {" a=1 ;\tb=2\t", "a=1|b=2|"},
        {"a=b=c", "a=b=c|"},
        {"a=", "a=|"},
        {"a=1; a=2", "a=1|a=2|"},
        {"a=\"x\"", "a=\"x\"|"},
        {"__Host-id=7", "__Host-id=7|"},
    };
    for (const auto& one : cases) EXPECT_EQ(parsed_cookies(one.field), one.pairs) << one.field;
}

// What one program reads as one cookie and another as two or none reaches no handler.
TEST(Cookie, DoubtfulPairsAreSkippedAndTheOthersStay) {
    const ByteView bad[] = {"a",      "=a",         "=__Host-id=7", "a b=1",   "a=1 2",   "a=1,b=2",
                            "a=\"1",  "a=1\"2",     "a=\\1",        "a\x01=1", "\"a\"=1", "=",
                            "a=\x7f", "a=\xC3\xA9", "(a)=1",        " ",       "a=\t1",   "[a]=1"};
    for (const ByteView one : bad) {
        EXPECT_EQ(parsed_cookies(one), "") << one;
        const std::string between = "x=1; " + std::string(one) + "; y=2";
        EXPECT_EQ(parsed_cookies(between), "x=1|y=2|") << one;
    }
    EXPECT_EQ(parsed_cookies(ByteView("a=\0", 3)), "");
}

// RFC 6265bis, 4.1.1: cookie-octet. The others would make two programs read two things.
TEST(Cookie, AValueIsMadeOfItsOwnBytesOnly) {
    for (int byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        const bool allowed = byte > 0x20 && byte < 0x7f && !ByteView("\",;\\").contains(c);
        const std::string value = {'x', c, 'x'};
        EXPECT_EQ(check_cookie({.name = "a", .value = value}) == CookieFault::none, allowed)
            << byte;
        EXPECT_EQ(parsed_cookies("a=" + value) == "a=" + value + "|", allowed) << byte;
        const std::string path = {'/', c};
        EXPECT_EQ(check_cookie({.name = "a", .value = "x", .path = path}) == CookieFault::none,
                  byte >= 0x20 && byte != 0x7f && c != ';')
            << byte;
    }
}

// Long values are checked sixteen bytes at a time, with a rest of any length.
TEST(Cookie, AByteThatNoValueHasIsFoundAtEachPlace) {
    for (std::size_t bytes = 1; bytes <= 50; ++bytes) {
        for (std::size_t at = 0; at < bytes; ++at) {
            std::string value(bytes, '~');
            value[at] = '!';
            EXPECT_EQ(parsed_cookies("a=" + value), "a=" + value + "|");
            for (const char bad : std::string("\x1f \",\\\x7f\x80\xff")) {
                // An outer blank is none of the value, and two quotes may stand around it.
                const bool is_outer = at == 0 || at + 1 == bytes;
                if (is_outer && (bad == ' ' || bad == '"')) continue;
                value[at] = bad;
                EXPECT_EQ(parsed_cookies("a=" + value), "") << bytes << " bytes, at " << at;
            }
        }
    }
}

TEST(Cookie, EveryBeginningOfAFieldIsReadWithoutHarm) {
    const ByteView field = "a=1; __Host-b=\"x\"; ;; c; =d; e=f=g;";
    for (std::size_t bytes = 0; bytes <= field.size(); ++bytes) {
        for (CookiePairs pairs(field.substr(0, bytes)); auto pair = pairs.next();) {
            EXPECT_GE(pair->name.data(), field.data());
            EXPECT_LE(pair->value.data() + pair->value.size(), field.data() + bytes);
        }
    }
}

TEST(Cookie, RendersEachAttribute) {
    EXPECT_EQ(rendered_cookie({.name = "id", .value = "7"}),
              "id=7; Path=/; Secure; HttpOnly; SameSite=Lax");
    EXPECT_EQ(rendered_cookie({.name = "id",
                               .value = "",
                               .path = "/a",
                               .domain = "example.org",
                               .max_age = 60,
                               .same_site = SameSite::strict,
                               .secure = false,
                               .http_only = false}),
              "id=; Path=/a; Domain=example.org; Max-Age=60; SameSite=Strict");
    EXPECT_EQ(rendered_cookie({.name = "p",
                               .value = "\"q\"",
                               .path = "",
                               .max_age = -5,
                               .same_site = SameSite::none,
                               .partitioned = true}),
              "p=\"q\"; Max-Age=0; Secure; HttpOnly; SameSite=None; Partitioned");
    EXPECT_EQ(rendered_cookie({.name = "s", .value = "1", .path = "/a b"}),
              "s=1; Path=/a b; Secure; HttpOnly; SameSite=Lax");
    EXPECT_EQ(rendered_cookie({.name = "u", .value = "1", .same_site = SameSite::unset}),
              "u=1; Path=/; Secure; HttpOnly");
}

TEST(Cookie, AFaultIsNamedAndNothingIsRendered) {
    const std::string long_value(cookie_bytes_max, 'v');
    const std::string long_path = "/" + std::string(cookie_attribute_bytes_max, 'p');
    const struct {
        SetCookie cookie;
        CookieFault fault;
    } cases[] = {
        {{.name = "", .value = "x"}, CookieFault::bad_name},
        {{.name = "a b", .value = "x"}, CookieFault::bad_name},
        {{.name = "a", .value = "x;y"}, CookieFault::bad_value},
        {{.name = "a", .value = "x\r\nSet-Cookie: b=1"}, CookieFault::bad_value},
        {{.name = "a", .value = "\""}, CookieFault::bad_value},
        {{.name = "a", .value = "x", .path = "p"}, CookieFault::bad_attribute},
        {{.name = "a", .value = "x", .path = "/;b"}, CookieFault::bad_attribute},
        {{.name = "a", .value = "x", .domain = "a\r\nb"}, CookieFault::bad_attribute},
        {{.name = "a", .value = long_value}, CookieFault::too_long},
        {{.name = "a", .value = "x", .path = long_path}, CookieFault::too_long},
        {{.name = "a", .value = "x", .same_site = SameSite::none, .secure = false},
         CookieFault::insecure},
        {{.name = "__Secure-a", .value = "x", .secure = false}, CookieFault::insecure},
        {{.name = "__host-a", .value = "x", .secure = false}, CookieFault::insecure},
        {{.name = "__Host-a", .value = "x", .path = "/b"}, CookieFault::bad_prefix},
        {{.name = "__Host-a", .value = "x", .domain = "b"}, CookieFault::bad_prefix},
    };
    for (const auto& one : cases) {
        EXPECT_EQ(check_cookie(one.cookie), one.fault) << one.cookie.name;
        EXPECT_EQ(rendered_cookie(one.cookie), "fault: " + std::string(to_string(one.fault)));
    }
}

TEST(Cookie, TheLongestFitsAndWhatDoesNotLeavesNoHalf) {
    const std::string value(cookie_bytes_max - 8, 'v');
    const std::string path = "/" + std::string(cookie_attribute_bytes_max - 1, 'p');
    const std::string domain(cookie_attribute_bytes_max, 'd');
    const SetCookie longest{.name = "a2345678",
                            .value = value,
                            .path = path,
                            .domain = domain,
                            .max_age = INT64_MAX,
                            .same_site = SameSite::strict,
                            .partitioned = true};
    const std::string whole = rendered_cookie(longest);
    EXPECT_TRUE(whole.ends_with("; SameSite=Strict; Partitioned"));
    const SetCookie small{.name = "a", .value = "b"};
    const std::string text = rendered_cookie(small);
    for (std::size_t room = 0; room < text.size(); ++room) {
        std::array<char, 100> memory;
        BoundedText out(std::span<char>(memory.data(), room));
        EXPECT_FALSE(append_set_cookie(out, small));
        EXPECT_EQ(out.size(), 0u);
    }
}

}  // namespace
}  // namespace tiderace::http::wire
