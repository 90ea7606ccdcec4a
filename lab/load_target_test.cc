#include "lab/load_target.h"

#include <gtest/gtest.h>

namespace tiderace::lab {
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
        {"http://localhost:81", "127.0.0.1:81", "localhost:81", "/"},
        {"127.0.0.9:81/a", "127.0.0.9:81", "127.0.0.9:81", "/a"},
        {"http://127.0.0.1:81?q", "127.0.0.1:81", "127.0.0.1:81", "/?q"},
        {"http://[::1]:81/", "[::1]:81", "[::1]:81", "/"},
        {"http://[::1]/", "[::1]:80", "[::1]", "/"},
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
         {"", "http://", "ftp://127.0.0.1/", "https://127.0.0.1/", "http://127.0.0.1:0/",
          "http://127.0.0.1:99999/", "http://127.0.0.1:8x/", "http://u:p@127.0.0.1/",
          "http://127.0.0.1/a b", "http://127.0.0.1/a\r\nX: y", "http://127.0.0.1/#a", "http:///x",
          "http://:80/", "unix:/tmp/x"}) {
        EXPECT_FALSE(parse_load_target(url)) << url;
    }
}

TEST(LoadTarget, OnlyThisMachineIsLoadedUnasked) {
    const auto permit = [](std::string_view url, bool own) {
        return permit_load(*parse_load_target(url), own).has_value();
    };
    EXPECT_TRUE(permit("http://127.3.2.1/", false));
    EXPECT_TRUE(permit("http://[::1]/", false));
    EXPECT_FALSE(permit("http://192.0.2.1/", false));
    EXPECT_FALSE(permit("http://[2001:db8::1]/", false));
    EXPECT_TRUE(permit("http://192.0.2.1/", true));
}

TEST(LoadTarget, RendersTheRequest) {
    const auto target = parse_load_target("http://127.0.0.1:81/x");
    LoadOptions options;
    options.fields = {"Accept: a/b"};
    EXPECT_EQ(render_request(*target, options),
              "GET /x HTTP/1.1\r\nHost: 127.0.0.1:81\r\nAccept: a/b\r\n\r\n");
    options.method = "HEAD";
    options.close = true;
    options.fields.clear();
    EXPECT_EQ(render_request(*target, options),
              "HEAD /x HTTP/1.1\r\nHost: 127.0.0.1:81\r\nConnection: close\r\n\r\n");
}

}  // namespace
}  // namespace tiderace::lab
