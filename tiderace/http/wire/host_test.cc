#include "tiderace/http/wire/host.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::wire {
namespace {

TEST(Host, TakesNamesAddressesAndPorts) {
    for (const ByteView host : {"example.com",
                                "example.com:80",
                                "example.com:",
                                "example.com:65535",
                                "localhost",
                                "a_b",
                                "127.0.0.1:8080",
                                "999.1.1.1",
                                "%41bc",
                                "a%C3%A9",
                                "[::1]",
                                "[::1]:443",
                                "[::]",
                                "[::]:",
                                "[1:2:3:4:5:6:7:8]",
                                "[1::8]",
                                "[1:2:3:4:5:6:7::]",
                                "[::2:3:4:5:6:7:8]",
                                "",
                                "[::ffff:192.0.2.1]",
                                "[1:2:3:4:5:6:192.0.2.1]",
                                "[FE80::abcd]",
                                "xn--bcher-kva.example",
                                "a,b",
                                "x;y",
                                "a!$&'()*+=~",
                                "example.com."}) {
        EXPECT_TRUE(valid_host(host)) << host;
    }
}

TEST(Host, AMemoSaysTheSameAsTheFunction) {
    HostMemo memo;
    const std::string longest(64, 'a');
    const std::string too_long(65, 'a');
    // In this order: each after another that was valid or not, of the same length or not.
    for (const ByteView host :
         {ByteView(), ByteView("a.example"), ByteView("a.example"), ByteView("b.example"),
          ByteView("b exampl"), ByteView("b exampl"), ByteView("b.example"), ByteView("b.exampl "),
          ByteView(longest), ByteView(too_long), ByteView(too_long), ByteView(longest),
          ByteView("[::1]:443"), ByteView("[::g]:443"), ByteView("[::1]"), ByteView("[::1"),
          ByteView(":99999"), ByteView()}) {
        EXPECT_EQ(memo.is_valid(host), valid_host(host)) << host;
        EXPECT_EQ(memo.is_valid(host), valid_host(host)) << host;
    }
}

TEST(Host, RefusesWhatNoUrlMayHoldThere) {
    for (const ByteView host : {"a b",
                                "user@example.com",
                                "a/b",
                                "a?b",
                                "a#b",
                                "a\\b",
                                "http://a",
                                "a:b",
                                "a:-1",
                                "a:+1",
                                "a:65536",
                                "a:99999999999999999999",
                                "a:80:80",
                                "a: 80",
                                "%",
                                "%4",
                                "%4g",
                                "%g4",
                                "a%",
                                "\"a\"",
                                "<a>",
                                "a^b",
                                "a|b",
                                "a`b",
                                "{a}",
                                "a\tb",
                                "a\x7f",
                                "\x80",
                                "a\xc3\xa9",
                                "::1",
                                "[::1",
                                "::1]",
                                "[]",
                                "[:]",
                                "[:::]",
                                "[::1]x",
                                "[::1]:x",
                                "[::1%25eth0]",
                                "[1::2::3]",
                                "[12345::]",
                                "[1:2:3:4:5:6:7]",
                                "[1:2:3:4:5:6:7:8:9]",
                                "[1:2:3:4:5:6:7:8::]",
                                "[1:2:3:4::5:6:7:8]",
                                "[v1.a]",
                                "[::g]",
                                "[1:]",
                                "[:1]",
                                "[::1.2.3]",
                                "[::256.1.1.1]",
                                "[::01.1.1.1]",
                                "[::1.2.3.4.5]",
                                "[1:2:3:4:5:6:7:1.2.3.4]",
                                "[1.2.3.4]",
                                "[[::1]]",
                                "example.com,b:80,"}) {
        EXPECT_FALSE(valid_host(host)) << host;
    }
    EXPECT_FALSE(valid_host(std::string("a\0b", 3)));
}

// The address of a URL or a field is a part of a longer text.
TEST(Host, BytesBehindAnAddressAreNoPartOfIt) {
    const struct {
        ByteView text;
        std::size_t bytes;
        bool valid;
    } cases[] = {
        {"::1.2.3.45", 9, true},
        {"::1.2.3.256", 10, true},
        {"::1.2.3.4.5", 9, true},
        {"::12345", 6, true},
        {"::1:2", 3, true},
        {"1:2:3:4:5:6:7:8:9", 15, true},
        {"::1.2.3.4", 7, false},
        {"::1.2.3.4", 8, false},
        {"1:2:3:4:5:6:7:8", 14, false},
        {"1:2:3:4:5:6:7:8", 13, false},
        {"1:2:3:4:5:6:7::", 14, false},
        {"::", 1, false},
        {"::ffff:192.0.2.1", 11, false},
    };
    for (const auto& [text, bytes, valid] : cases) {
        EXPECT_EQ(valid_ipv6(text.substr(0, bytes)), valid) << text << " " << bytes;
    }
}

TEST(Host, IsSplitFromItsPort) {
    EXPECT_EQ(host_without_port("Example.org:8080"), "Example.org");
    EXPECT_EQ(host_without_port("example.org.:80"), "example.org");
    EXPECT_EQ(host_without_port("example.org:"), "example.org");
    EXPECT_EQ(host_without_port("[::1]:80"), "[::1]");
    EXPECT_EQ(host_without_port("[::1]"), "[::1]");
    EXPECT_EQ(host_without_port(""), "");
    EXPECT_EQ(host_without_port("."), "");
}

TEST(Host, IsComparedWithNamesAndPatterns) {
    EXPECT_TRUE(is_host_of("example.org", "EXAMPLE.org"));
    EXPECT_FALSE(is_host_of("example.org", "a.example.org"));
    EXPECT_TRUE(is_host_of(".example.org", "a.b.Example.org"));
    EXPECT_FALSE(is_host_of(".example.org", "example.org"));
    EXPECT_FALSE(is_host_of(".example.org", ".example.org"));
    EXPECT_FALSE(is_host_of(".example.org", "an-example.org"));
}

TEST(Host, IsAnAddress) {
    EXPECT_TRUE(is_ip_address("192.0.2.1"));
    EXPECT_TRUE(is_ip_address("[2001:db8::1]"));
    for (const ByteView name :
         {"", "[]", "[x]", "::1", "192.0.2", "192.0.2.1.example", "[::1", "1"}) {
        EXPECT_FALSE(is_ip_address(name)) << name;
    }
}

}  // namespace
}  // namespace tiderace::http::wire
