#include "tiderace/http/client/url.h"

#include <gtest/gtest.h>

namespace tiderace::http {
namespace {

std::string read(const char* text) {
    const auto url = Url::parse(text);
    return url ? url->text() + " " + url->place() : "none";
}

TEST(Url, IsReadAndWrittenInOneForm) {
    const struct {
        const char* text;
        const char* made;
    } cases[] = {
        {"http://a.example", "http://a.example/ a.example:80"},
        {"HTTPS://A.Example:443/x?y#z", "https://a.example/x?y a.example:443"},
        {"http://a:8080?q", "http://a:8080/?q a:8080"},
        {"http://[::1]:80/", "http://[::1]/ [::1]:80"},
        {"http://a:/x", "http://a/x a:80"},
        {"http://a/./b/../c/.", "http://a/c/ a:80"},
        {"http://a/../..", "http://a/ a:80"},
        {"http://a//b", "http://a//b a:80"},
        {"http://a/.b/c.d/..e", "http://a/.b/c.d/..e a:80"},
        {"http://a/b/..", "http://a/ a:80"},
        {"http://a/x y?\"\xC3\xA9", "http://a/x%20y?%22%C3%A9 a:80"},
        {"http://a/%2e%41?a=%zz", "http://a/%2e%41?a=%zz a:80"},
        {"http://a/x?y=/../z", "http://a/x?y=/../z a:80"},
        {"http://a/x/..?y=/..#/z", "http://a/?y=/.. a:80"},
        {"http://a:00081/x", "http://a:81/x a:81"},
    };
    for (const auto& c : cases) EXPECT_EQ(read(c.text), c.made);
    for (const char* bad : {"", "a.example", "/x", "ftp://a/", "http:a", "http:///x", "http://",
                            "http://u:p@a/", "http://a:0/", "http://a:65536/", "http://a b/",
                            "http://a/\r\nX: y", "http://a/\x7f", "http://[::1", "http://a%41/"}) {
        EXPECT_EQ(read(bad), "none") << bad;
    }
    EXPECT_FALSE(Url::parse("http://a/" + std::string(Url::url_bytes_max, 'x')));
    const std::string longest = "http://a/" + std::string(Url::url_bytes_max - 9, 'x');
    EXPECT_TRUE(Url::parse(longest));
    EXPECT_TRUE(Url::parse("http://b/")->resolve(longest));
    EXPECT_FALSE(Url::parse("http://b/")->resolve(longest + "x"));
}

TEST(Url, ReferencesAreResolvedAsTheRfcSays) {
    const Url base = *Url::parse("http://a/b/c/d;p?q");
    const struct {
        const char* reference;
        const char* made;
    } cases[] = {
        // RFC 3986, 5.4, without its fragments.
        {"g", "http://a/b/c/g"},        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},      {"/g", "http://a/g"},
        {"//g", "http://g/"},           {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},    {"#s", "http://a/b/c/d;p?q"},
        {"", "http://a/b/c/d;p?q"},     {";x", "http://a/b/c/;x"},
        {".", "http://a/b/c/"},         {"..", "http://a/b/"},
        {"../g", "http://a/b/g"},       {"../..", "http://a/"},
        {"../../../g", "http://a/g"},   {"/./g", "http://a/g"},
        {"g.", "http://a/b/c/g."},      {"..g", "http://a/b/c/..g"},
        {"./g/.", "http://a/b/c/g/"},   {"g/../h", "http://a/b/c/h"},
        {"https://x/y", "https://x/y"}, {"a/b:c", "http://a/b/c/a/b:c"},
    };
    for (const auto& c : cases) {
        const auto made = base.resolve(c.reference);
        ASSERT_TRUE(made) << c.reference;
        EXPECT_EQ(made->text(), c.made) << c.reference;
    }
    for (const char* bad : {"ftp://a/", "javascript:alert(1)", "mailto:a@b", "//u@b/", "g\r\n"}) {
        EXPECT_FALSE(base.resolve(bad)) << bad;
    }
}

// In this order, so that each begins as one before does.
TEST(Url, AMemoGivesWhatParseDoes) {
    UrlMemo memo;
    for (const char* text : {"http://A.example:80/x",
                             "http://A.example:80/y?q",
                             "http://A.example:80/y?q#z",
                             "http://A.example:80/a/../b",
                             "http://A.example:80/a b",
                             "http://A.example:80?q",
                             "http://A.example:80",
                             "http://A.example:8080/",
                             "http://A.example:80a/",
                             "http://A.example:80@b/",
                             "http://A.example:80/\n",
                             "http://A.example:80/x",
                             "https://[::1]/",
                             "https://[::1]:8443/",
                             "https://[::1]/x",
                             "http://a",
                             "http://ab/x",
                             "http://a/x",
                             "http://a.b/x",
                             "http://a//b",
                             "http://a?/x",
                             "http://a/x?/y"}) {
        EXPECT_EQ(memo.parse(text), Url::parse(text)) << text;
    }
    EXPECT_FALSE(memo.parse("http://a/" + std::string(Url::url_bytes_max, 'x')));
}

TEST(Url, AnOriginIsSchemeHostAndPort) {
    const Url one = *Url::parse("https://a/x");
    EXPECT_TRUE(one.same_origin(*Url::parse("https://A:443/y")));
    EXPECT_FALSE(one.same_origin(*Url::parse("http://a:443/x")));
    EXPECT_FALSE(one.same_origin(*Url::parse("https://a:444/x")));
    EXPECT_FALSE(one.same_origin(*Url::parse("https://b.a/x")));
}

}  // namespace
}  // namespace tiderace::http
