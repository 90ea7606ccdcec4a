#include "server/listen_address.h"

#include <gtest/gtest.h>

namespace tiderace::server {
namespace {

TEST(ListenAddress, ReadsEveryForm) {
    struct Case {
        std::string_view text, host;
        std::uint16_t port;
        std::string_view unix_path;
    };
    const Case cases[] = {
        {"127.0.0.1:8080", "127.0.0.1", 8080, ""},
        {":8080", "", 8080, ""},
        {":0", "", 0, ""},
        {"0.0.0.0:65535", "0.0.0.0", 65535, ""},
        {"localhost:80", "localhost", 80, ""},
        {"[::1]:8080", "::1", 8080, ""},
        {"[::]:8080", "::", 8080, ""},
        {"[fe80::1%eth0]:80", "fe80::1%eth0", 80, ""},
        {"unix:/run/site.sock", "", 0, "/run/site.sock"},
        {"unix:site:1", "", 0, "site:1"},
    };
    for (const Case& c : cases) {
        const auto address = parse_listen_address(c.text);
        ASSERT_TRUE(address) << c.text;
        EXPECT_EQ(address->host, c.host) << c.text;
        EXPECT_EQ(address->port, c.port) << c.text;
        EXPECT_EQ(address->unix_path, c.unix_path) << c.text;
        EXPECT_EQ(address->is_unix(), !c.unix_path.empty()) << c.text;
    }
}

TEST(ListenAddress, RefusesWhatIsNoAddress) {
    const std::string long_path(108, 'x');
    const std::string_view cases[] = {
        "",           "8080",      "localhost",       ":",         ":-1",     ":+80",
        ":65536",     ":80x",      "::1:80",          "[::1]",     "[]:80",   "[1.2.3.4]:80",
        "http://a:8", "a b:80",    "127.0.0.1:80/",   "unix:",     "[::1:80", "::1]:80",
        ":8080 ",     "[g::1]:80", "99999999999:8 0", "host:0x50",
    };
    for (const std::string_view text : cases) EXPECT_FALSE(parse_listen_address(text)) << text;
    EXPECT_FALSE(parse_listen_address("unix:" + long_path)) << "sun_path holds 107 bytes";
    EXPECT_TRUE(parse_listen_address("unix:" + long_path.substr(1)));
}

TEST(ListenAddress, KnowsWhichMachinesCanReachIt) {
    const auto is_loopback = [](std::string_view text) {
        return parse_listen_address(text)->is_loopback();
    };
    const auto is_wildcard = [](std::string_view text) {
        return parse_listen_address(text)->is_wildcard();
    };
    for (const auto* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "unix:x"}) {
        EXPECT_TRUE(is_loopback(text)) << text;
        EXPECT_FALSE(is_wildcard(text)) << text;
    }
    for (const auto* text : {":1", "0.0.0.0:1", "[::]:1"}) {
        EXPECT_FALSE(is_loopback(text)) << text;
        EXPECT_TRUE(is_wildcard(text)) << text;
    }
    EXPECT_FALSE(is_loopback("192.168.1.2:1"));
    for (const auto* name : {"127.example:1", "127.0.0.1.example:1"}) {
        EXPECT_FALSE(is_loopback(name)) << name << " is a name, and may lead anywhere";
    }
    EXPECT_FALSE(is_wildcard("192.168.1.2:1"));
}

TEST(ListenAddress, GivesTheUrlForABrowserOnThisMachine) {
    const auto url = [](std::string_view text) { return parse_listen_address(text)->local_url(); };
    EXPECT_EQ(url("127.0.0.1:8080"), "http://localhost:8080/");
    EXPECT_EQ(url(":80"), "http://localhost/");
    EXPECT_EQ(url("[::1]:8080"), "http://[::1]:8080/");
    EXPECT_EQ(url("192.168.1.2:8080"), "http://192.168.1.2:8080/");
    EXPECT_EQ(url("[2001:db8::1]:80"), "http://[2001:db8::1]/");
    EXPECT_EQ(url("unix:x"), "");
    EXPECT_EQ(site_url(true, "localhost", 443), "https://localhost/");
    EXPECT_EQ(site_url(true, "::1", 80), "https://[::1]:80/");
}

}  // namespace
}  // namespace tiderace::server
