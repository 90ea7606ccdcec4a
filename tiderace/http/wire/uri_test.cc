#include "tiderace/http/wire/uri.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiderace::http::wire {
namespace {

using Form = Target::Form;

TEST(Uri, CutsAnOriginFormIntoPathAndQuery) {
    struct Case {
        ByteView text, path, query;
        bool has_query;
    };
    const Case cases[] = {
        {"/", "/", "", false},
        {"/index.html", "/index.html", "", false},
        {"/a/b/?", "/a/b/", "", true},
        {"/where?q=now", "/where", "q=now", true},
        {"/a?b?c/d", "/a", "b?c/d", true},
        {"//host/path", "//host/path", "", false},
        {"/%2e%2E/%00", "/%2e%2E/%00", "", false},
        {"/a:b@c!$&'()*+,;=-._~", "/a:b@c!$&'()*+,;=-._~", "", false},
        {"/http://example.org/", "/http://example.org/", "", false},
    };
    for (const Case& c : cases) {
        const auto target = parse_target(c.text);
        ASSERT_TRUE(target) << c.text;
        EXPECT_EQ(target->form, Form::origin);
        EXPECT_EQ(target->path, c.path) << c.text;
        EXPECT_EQ(target->query, c.query) << c.text;
        EXPECT_EQ(target->has_query, c.has_query) << c.text;
        EXPECT_EQ(target->authority, "");
    }
}

TEST(Uri, AcceptsWhatBrowsersSendWithoutEscaping) {
    EXPECT_TRUE(parse_target("/?filter[a]=1"));
    EXPECT_TRUE(parse_target("/?q={x|y}^`\\"));
    EXPECT_TRUE(parse_target("/a[1]|b^"));
}

TEST(Uri, CutsAnAbsoluteFormIntoItsParts) {
    struct Case {
        ByteView text, scheme, authority, path, query;
    };
    const Case cases[] = {
        {"http://example.org/where?q=now", "http", "example.org", "/where", "q=now"},
        {"HTTPS://example.org:8443/", "HTTPS", "example.org:8443", "/", ""},
        {"http://example.org", "http", "example.org", "/", ""},
        {"http://example.org?q", "http", "example.org", "/", "q"},
        {"http://[::1]:80/x", "http", "[::1]:80", "/x", ""},
        {"http://127.0.0.1:/x", "http", "127.0.0.1:", "/x", ""},
    };
    for (const Case& c : cases) {
        const auto target = parse_target(c.text);
        ASSERT_TRUE(target) << c.text;
        EXPECT_EQ(target->form, Form::absolute);
        EXPECT_EQ(target->scheme, c.scheme) << c.text;
        EXPECT_EQ(target->authority, c.authority) << c.text;
        EXPECT_EQ(target->path, c.path) << c.text;
        EXPECT_EQ(target->query, c.query) << c.text;
    }
}

TEST(Uri, KnowsTheAsteriskAndAuthorityForms) {
    EXPECT_EQ(parse_target("*")->form, Form::asterisk);
    const auto target = parse_target("example.org:443");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->form, Form::authority);
    EXPECT_EQ(target->authority, "example.org:443");
    EXPECT_EQ(target->path, "");
    EXPECT_EQ(parse_target("[::1]:443")->form, Form::authority);
}

TEST(Uri, RefusesWhatIsNoTarget) {
    const ByteView cases[] = {
        "",
        "index.html",
        "?q",
        "**",
        "*/",
        "/a b",
        "/a\tb",
        "/a#b",
        "/?a#b",
        "/a\"b",
        "/<a>",
        "/a\\b",
        "/{a}",
        "/?<a>",
        "/%",
        "/%4",
        "/%4g",
        "/?%",
        "/?q=%zz",
        "/caf\xC3\xA9",
        "/?\xFF",
        "/\x7F",
        "example.org",
        "example.org:",
        "example.org:port",
        "example.org:65536",
        ":443",
        "[::1]",
        "[::1]:",
        "user@example.org:443",
        "http://",
        "http:///path",
        "http://:80/",
        "http://user@example.org/",
        "http://user:word@example.org/",
        "http://exa mple.org/",
        "http://example.org:80a/",
        "http://example.org:99999/",
        "http://example.org#f",
        "http://[::1/",
        "http://[::1]x/",
        "http://ex[am]ple/",
        "http://a%zz/",
        "http:/example.org/",
        "ftp://example.org/",
        "httpx://example.org/",
        "://example.org/",
    };
    for (const ByteView text : cases) EXPECT_FALSE(parse_target(text)) << text;
    EXPECT_FALSE(parse_target(ByteView("/a\0b", 4)));
    EXPECT_FALSE(parse_target("/a\r\n"));
}

TEST(Uri, ViewsTheInputWithoutCopying) {
    const std::string text = "http://example.org/a?b";
    const auto target = parse_target(text);
    ASSERT_TRUE(target);
    EXPECT_EQ(target->authority.data(), text.data() + 7);
    EXPECT_EQ(target->path.data(), text.data() + 18);
    EXPECT_EQ(target->query.data(), text.data() + 21);
}

TEST(Uri, EveryPrefixIsReadWithinItsBounds) {
    const std::string text = "http://[2001:db8::192.0.2.1]:8080/a%20b?c=%7Ed";
    for (std::size_t size = 0; size <= text.size(); ++size) {
        const std::vector<char> exact(text.begin(), text.begin() + size);  // asan sees one past
        const auto target = parse_target(ByteView(exact.data(), exact.size()));
        EXPECT_TRUE(!target || target->form == Form::absolute) << size;
    }
}

}  // namespace
}  // namespace tiderace::http::wire
