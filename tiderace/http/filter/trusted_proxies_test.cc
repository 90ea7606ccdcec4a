#include "tiderace/http/filter/trusted_proxies.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "tiderace/http/filter/filter_fixture.h"

namespace tiderace::http::filter {
namespace {

core::Address address(std::string_view text) {
    return std::move(*core::Address::parse(text));
}
std::string fault_of(std::string network) {
    std::string fault;
    const TrustedProxies made({.networks = {std::move(network)}}, fault);
    return fault;
}

class Applies final : public AccessRule {
  public:
    Applies(core::Address peer, TrustedProxyOptions options)
        : peer_(std::move(peer)), proxies_(options, fault) {}
    Verdict check(Exchange& exchange) override {
        exchange.set_client(peer_, false);
        proxies_.apply(exchange);
        std::array<char, core::Address::ip_text_bytes_max> text;
        const Request& request = exchange.request();
        seen = std::string(text.data(), request.peer->format_ip(text.data()));
        if (request.secure) seen += " secure";
        return Verdict::pass;
    }
    std::string fault;
    std::string seen;

  private:
    core::Address peer_;
    TrustedProxies proxies_;
};

class TrustedProxiesTest : public FilterTest {
  protected:
    using Fields = testing::RecordedExchange::Fields;
    std::string client(Fields fields, std::string_view peer = "10.0.0.1:80") {
        Applies rule(address(peer),
                     {.networks = {"10.0.0.0/8", "2001:db8::/32", "unix"}, .field = field});
        EXPECT_EQ(rule.fault, "");
        ask(rule, "GET", std::move(fields));
        return rule.seen;
    }
    std::string from(std::string list) { return client({{"X-Forwarded-For", std::move(list)}}); }
    std::string forwarded(std::string list) {
        field = ProxyField::forwarded;
        return client({{"Forwarded", std::move(list)}});
    }
    ProxyField field = ProxyField::x_forwarded_for;
};

TEST_F(TrustedProxiesTest, TheRightMostAddressThatIsNotTrusted) {
    EXPECT_EQ(from("192.0.2.7"), "192.0.2.7");
    EXPECT_EQ(from("6.6.6.6, 192.0.2.7"), "192.0.2.7") << "the client wrote the first";
    EXPECT_EQ(from("6.6.6.6,192.0.2.7 ,10.9.9.9, 2001:db8::5"), "192.0.2.7");
    EXPECT_EQ(from("10.0.0.3, 10.0.0.2"), "10.0.0.3") << "all are trusted: the left-most";
    EXPECT_EQ(from("192.0.2.7:4711"), "192.0.2.7");
    EXPECT_EQ(from("2001:db9::7"), "2001:db9::7");
    EXPECT_EQ(from("[2001:db9::7]"), "2001:db9::7");
    EXPECT_EQ(from("[2001:db9::7]:80"), "2001:db9::7");
    EXPECT_EQ(from("::ffff:10.0.0.2"), "10.0.0.2") << "IPv4 in IPv6 is the same address";
    EXPECT_EQ(from("192.0.2.7, , "), "192.0.2.7");
    EXPECT_EQ(from(""), "10.0.0.1");
    EXPECT_EQ(client({}), "10.0.0.1");
}

TEST_F(TrustedProxiesTest, APeerThatIsNotTrustedSaysNothing) {
    const Fields fields = {{"X-Forwarded-For", "192.0.2.7"}, {"X-Forwarded-Proto", "https"}};
    EXPECT_EQ(client(fields, "198.51.100.1:80"), "198.51.100.1");
    EXPECT_EQ(client(fields, "11.0.0.1:80"), "11.0.0.1");
    EXPECT_EQ(client(fields, "[2001:db9::1]:80"), "2001:db9::1");
    EXPECT_EQ(client(fields, "[2001:db8:1::1]:80"), "192.0.2.7 secure");
    EXPECT_EQ(client(fields, "10.255.0.1:80"), "192.0.2.7 secure");
    EXPECT_EQ(client(fields, "unix:/run/x"), "192.0.2.7 secure");
}

TEST_F(TrustedProxiesTest, WhatIsNoAddressEndsTheSearch) {
    for (const char* bad : {"unknown", "localhost", "unix:/x", ":80", "1.2.3", "1.2.3.4.5",
                            "fe80::1%eth0", "[::1", "::1]", "a", "\"192.0.2.7\"", "1.2.3.4:x"}) {
        EXPECT_EQ(from(std::string("192.0.2.7, ") + bad), "10.0.0.1") << bad;
        EXPECT_EQ(from(std::string("192.0.2.7, ") + bad + ", 10.0.0.2"), "10.0.0.2") << bad;
    }
}

TEST_F(TrustedProxiesTest, SeveralLinesAreOneList) {
    EXPECT_EQ(client({{"X-Forwarded-For", "6.6.6.6"},
                      {"X-Forwarded-For", "192.0.2.7"},
                      {"X-Forwarded-For", "10.0.0.2"}}),
              "192.0.2.7");
    Fields many;
    for (int i = 0; i < 40; ++i) many.emplace_back("X-Forwarded-For", "6.6.6.6");
    many.emplace_back("X-Forwarded-For", "192.0.2.7, 10.0.0.2");
    EXPECT_EQ(client(many), "192.0.2.7");
}

TEST_F(TrustedProxiesTest, TheSchemeIsWhatTheProxySays) {
    const auto scheme = [&](std::string proto) {
        return client({{"X-Forwarded-For", "192.0.2.7"}, {"X-Forwarded-Proto", std::move(proto)}});
    };
    EXPECT_EQ(scheme("https"), "192.0.2.7 secure");
    EXPECT_EQ(scheme("HTTPS"), "192.0.2.7 secure");
    EXPECT_EQ(scheme("http"), "192.0.2.7");
    EXPECT_EQ(scheme("https, http"), "192.0.2.7") << "the last was added last";
    EXPECT_EQ(scheme("x"), "192.0.2.7");
}

TEST_F(TrustedProxiesTest, OnlyTheFieldThatIsAskedForCounts) {
    EXPECT_EQ(client({{"Forwarded", "for=6.6.6.6"}}), "10.0.0.1");
    field = ProxyField::forwarded;
    EXPECT_EQ(client({{"X-Forwarded-For", "6.6.6.6"}, {"X-Forwarded-Proto", "https"}}), "10.0.0.1");
}

TEST_F(TrustedProxiesTest, ForwardedOfRfc7239) {
    EXPECT_EQ(forwarded("for=192.0.2.7"), "192.0.2.7");
    EXPECT_EQ(forwarded("For=\"[2001:db9:cafe::17]:4711\""), "2001:db9:cafe::17");
    EXPECT_EQ(forwarded("for=192.0.2.7;proto=https;by=203.0.113.43"), "192.0.2.7 secure");
    EXPECT_EQ(forwarded("proto=http;for=192.0.2.7"), "192.0.2.7");
    EXPECT_EQ(forwarded("for=\"192.0.2.7\";proto=https"), "192.0.2.7 secure");
    EXPECT_EQ(forwarded("for=6.6.6.6;proto=https, for=192.0.2.7;proto=http, for=10.0.0.9"),
              "192.0.2.7");
    EXPECT_EQ(forwarded("for=192.0.2.7, for=unknown"), "10.0.0.1");
    EXPECT_EQ(forwarded("for=192.0.2.7, for=_hidden"), "10.0.0.1");
    EXPECT_EQ(forwarded("for=192.0.2.7, proto=http"), "10.0.0.1") << "no address";
    EXPECT_EQ(forwarded("for=192.0.2.7;for=6.6.6.6"), "10.0.0.1") << "twice";
    EXPECT_EQ(forwarded("for=6.6.6.6, for=10.0.0.3;for=10.0.0.2"), "10.0.0.1")
        << "what stands before a malformed element is not to be believed";
    EXPECT_EQ(forwarded("for=192.0.2.7, x"), "10.0.0.1");
    EXPECT_EQ(forwarded("for=192.0.2.7, for=\"1.2.3.4\"x"), "10.0.0.1");
}

TEST_F(TrustedProxiesTest, QuotesOfAClientHideNothing) {
    EXPECT_EQ(forwarded("for=\"6.6.6.6, for=192.0.2.7"), "192.0.2.7") << "left open";
    EXPECT_EQ(forwarded("for=192.0.2.7;host=\"x,for=6.6.6.6;a=\""), "192.0.2.7")
        << "a Host with a comma, as the proxy quotes it";
    EXPECT_EQ(forwarded("for=192.0.2.7;host=\"x\\\",for=6.6.6.6;a=\\\"\""), "192.0.2.7");
    EXPECT_EQ(forwarded("for=192.0.2.7;host=\"x,\\\\\""), "192.0.2.7")
        << "a quoted backslash stands before the quote that ends";
}

TEST(TrustedProxies, NetworksThatCannotBeAreNamed) {
    for (const char* good : {"10.0.0.0/8", "::1", "127.0.0.1", "0.0.0.0/0", "::/0", "unix",
                             "2001:db8::/33", "192.0.2.128/25"}) {
        EXPECT_EQ(fault_of(good), "") << good;
    }
    for (const char* bad : {"", "localhost", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1",
                            "10.0.0.0/8x", "10/8", "[::1]", "/8"}) {
        EXPECT_TRUE(fault_of(bad).starts_with("trusted_proxies: \"")) << bad;
    }
    EXPECT_EQ(fault_of("10.0.0.1/8"),
              "trusted_proxies: \"10.0.0.1/8\" has bits behind the network's");
}

TEST(TrustedProxies, ANetworkEndsInsideAByte) {
    std::string fault;
    const TrustedProxies proxies({.networks = {"192.0.2.128/25", "172.16.0.0/12"}}, fault);
    EXPECT_TRUE(proxies.trusts(address("192.0.2.200:1")));
    EXPECT_FALSE(proxies.trusts(address("192.0.2.127:1")));
    EXPECT_TRUE(proxies.trusts(address("172.31.255.255:1")));
    EXPECT_FALSE(proxies.trusts(address("172.32.0.0:1")));
    EXPECT_FALSE(proxies.trusts(address("unix:/run/x")));
}

}  // namespace
}  // namespace tiderace::http::filter
