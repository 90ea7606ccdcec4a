#include "server/nginx/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tiderace::server::nginx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NginxValues, Times) {
    EXPECT_EQ(time_of("65"), "65s");
    EXPECT_EQ(time_of("1h30m"), "5400s");
    EXPECT_EQ(time_of("1d"), "86400s");
    EXPECT_EQ(time_of("250ms"), "250ms");
    EXPECT_EQ(time_of("0"), "0");
    for (const char* const wrong : {"", "x", "1x", "-1", "ms", "99999999999999y"}) {
        EXPECT_EQ(time_of(wrong), std::nullopt) << wrong;
    }
}

TEST(NginxValues, Sizes) {
    EXPECT_EQ(size_of("10m"), "10MiB");
    EXPECT_EQ(size_of("8K"), "8KiB");
    EXPECT_EQ(size_of("1g"), "1GiB");
    EXPECT_EQ(size_of("0"), "0");
    for (const char* const wrong : {"", "m", "1t", "1b", "1mm"}) {
        EXPECT_EQ(size_of(wrong), std::nullopt) << wrong;
    }
}

TEST(NginxValues, Addresses) {
    EXPECT_EQ(address_of("80"), ":80");
    EXPECT_EQ(address_of("*:8080"), ":8080");
    EXPECT_EQ(address_of("[::]:443"), ":443");
    EXPECT_EQ(address_of("127.0.0.1"), "127.0.0.1:80");
    EXPECT_EQ(address_of("[::1]"), "[::1]:80");
    EXPECT_EQ(address_of("[::1]:81"), "[::1]:81");
    EXPECT_EQ(address_of("localhost:82"), "localhost:82");
    EXPECT_EQ(address_of("unix:/run/a.sock"), "unix:/run/a.sock");
}

TEST(NginxValues, Expires) {
    EXPECT_EQ(cache_control_of("30d"), "max-age=2592000");
    EXPECT_EQ(cache_control_of("max"), "max-age=315360000");
    EXPECT_EQ(cache_control_of("epoch"), "no-cache");
    EXPECT_EQ(cache_control_of("-1"), "no-cache");
    EXPECT_EQ(cache_control_of("@15h"), std::nullopt);
    EXPECT_EQ(cache_control_of("$x"), std::nullopt);
}

TEST(NginxValues, PatternsOfARegularExpression) {
    EXPECT_THAT(patterns_of("\\.php$"), ElementsAre("*.php"));
    EXPECT_THAT(patterns_of("\\.(css|jpe?g)$"), ElementsAre("*.css", "*.jpg", "*.jpeg"));
    EXPECT_THAT(patterns_of("\\.(?:tar\\.gz)$"), ElementsAre("*.tar.gz"));
    for (const char* const other : {"", "^/a", "\\.css", "\\.(a|b.)$", "\\.(a||)$", "\\.?x$"}) {
        EXPECT_THAT(patterns_of(other), IsEmpty()) << other;
    }
}

TEST(NginxValues, WhereARewriteLeads) {
    const auto moved = [](std::string_view regex, std::string_view target) {
        const auto found = moved_of(regex, target);
        return found ? found->path + " " + found->target : "";
    };
    EXPECT_EQ(moved("^/old/(.*)$", "/new/$1"), "/old /new{rest}");
    EXPECT_EQ(moved("^/old(.*)$", "/new$1"), "/old /new{rest}");
    EXPECT_EQ(moved("^/(.*)$", "https://a.example/$1?"), " https://a.example{rest}");
    EXPECT_EQ(moved("^(.*)$", "https://a.example$1"), " https://a.example{rest}");
    EXPECT_EQ(moved("^/feed\\.rss$", "/feed.xml"), "=/feed.rss /feed.xml");
    EXPECT_EQ(moved("^/a", "/b"), "/a /b");
    for (const auto& [regex, target] :
         {std::pair("/a", "/b"), std::pair("^/a/(\\d+)$", "/b/$1"), std::pair("^/a/(.*)$", "/b"),
          std::pair("^/a$", "/$x"), std::pair("^/a/(.*)$", "/b$1")}) {
        EXPECT_EQ(moved(regex, target), "") << regex;
    }
}

}  // namespace
}  // namespace tiderace::server::nginx
