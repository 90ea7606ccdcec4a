#include "load/target.h"

#include <gtest/gtest.h>

namespace tiderace::load {
namespace {

TEST(LoadTarget, ReadsUrls) {
    const struct {
        std::string url;
        std::string address;
        std::string host;
        std::string path;
    } cases[] = {
        {"http://127.0.0.1:8080/x?y=z", "127.0.0.1:8080", "127.0.0.1:8080", "/x?y=z"},
        {"http://127.0.0.1", "127.0.0.1:80", "127.0.0.1", "/"},
        {"HTTP://127.0.0.1", "127.0.0.1:80", "127.0.0.1", "/"},
        {"Echo://127.0.0.1:7", "127.0.0.1:7", "127.0.0.1:7", "/"},
        {"http://localhost:81", "127.0.0.1:81", "localhost:81", "/"},
        {"127.0.0.9:81/a", "127.0.0.9:81", "127.0.0.9:81", "/a"},
        {"http://127.0.0.1:81?q", "127.0.0.1:81", "127.0.0.1:81", "/?q"},
        {"http://[::1]:81/", "[::1]:81", "[::1]:81", "/"},
        {"http://[::1]/", "[::1]:80", "[::1]", "/"},
        {"https://127.0.0.1/s", "127.0.0.1:443", "127.0.0.1", "/s"},
        {"https://localhost:8443/", "127.0.0.1:8443", "localhost:8443", "/"},
    };
    for (const auto& each : cases) {
        const auto target = parse_load_target(each.url);
        ASSERT_TRUE(target) << each.url << ": " << target.error();
        EXPECT_EQ(target->address.to_string(), each.address) << each.url;
        EXPECT_EQ(target->host, each.host) << each.url;
        EXPECT_EQ(target->path, each.path) << each.url;
    }
}

TEST(LoadTarget, RefusesWhatIsNoUrl) {
    for (const std::string url :
         {"", "http://", "ftp://127.0.0.1/", "https://", "https://127.0.0.1:0/",
          "http://127.0.0.1:0/", "http://127.0.0.1:99999/", "http://127.0.0.1:8x/",
          "http://u:p@127.0.0.1/", "http://127.0.0.1/a b", "http://127.0.0.1/a\r\nX: y",
          "http://127.0.0.1/#a", "http:///x", "http://:80/", "unix:/tmp/x", "http://0.0.0.0:81/",
          "http://[::]/"}) {
        EXPECT_FALSE(parse_load_target(url)) << url;
    }
}

TEST(LoadTarget, KnowsWhatTheCertificateIsFor) {
    for (const auto& [url, name, tls] : {std::tuple("https://localhost:1/", "localhost", true),
                                         std::tuple("https://[::1]:1/", "::1", true),
                                         std::tuple("https://127.0.0.1/", "127.0.0.1", true),
                                         std::tuple("http://127.0.0.1:1/", "127.0.0.1", false)}) {
        const auto target = parse_load_target(url);
        ASSERT_TRUE(target) << url;
        EXPECT_EQ(target->name, name);
        EXPECT_EQ(target->tls, tls);
    }
}

TEST(LoadTarget, ANameMustStandForNothingButLoopback) {
    const auto address = [](std::string_view text) { return *core::Address::parse(text); };
    LoadTarget target{.address = address("127.0.0.1:80"), .host = "x", .path = "/"};
    target.found = {address("127.0.0.1:80"), address("[::1]:80")};
    EXPECT_TRUE(permit_load(target, false));
    target.found.push_back(address("192.0.2.1:80"));
    EXPECT_FALSE(permit_load(target, false));
    EXPECT_TRUE(permit_load(target, true));
}

TEST(LoadTarget, OnlyThisMachineIsLoadedUnasked) {
    const auto permit = [](std::string_view url, bool own) {
        return permit_load(*parse_load_target(url), own).has_value();
    };
    EXPECT_TRUE(permit("http://127.3.2.1/", false));
    EXPECT_TRUE(permit("http://[::1]/", false));
    EXPECT_TRUE(permit("http://[::ffff:127.0.0.1]/", false));
    EXPECT_FALSE(permit("http://[::ffff:192.0.2.1]/", false));
    EXPECT_FALSE(permit("http://[::2]/", false));
    EXPECT_FALSE(permit("http://128.0.0.1/", false));
    EXPECT_FALSE(permit("http://192.0.2.1/", false));
    EXPECT_FALSE(permit("http://[2001:db8::1]/", false));
    EXPECT_TRUE(permit("http://192.0.2.1/", true));
}

}  // namespace
}  // namespace tiderace::load
