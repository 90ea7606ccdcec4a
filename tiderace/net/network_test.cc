#include "tiderace/net/network.h"

#include <gtest/gtest.h>

namespace tiderace::net {
namespace {

core::Address address(const char* text) {
    return *core::Address::parse(text);
}

TEST(Network, HasTheAddressesOfItsFirstBits) {
    struct Case {
        const char* network;
        const char* address;
        bool is_in;
    };
    const Case cases[] = {
        {"10.0.0.0/8", "10.255.1.2:80", true},
        {"10.0.0.0/8", "11.0.0.1:80", false},
        {"192.0.2.4/30", "192.0.2.7:1", true},
        {"192.0.2.4/30", "192.0.2.8:1", false},
        {"192.0.2.4", "192.0.2.4:1", true},
        {"192.0.2.4", "192.0.2.5:1", false},
        {"0.0.0.0/0", "255.255.255.255:1", true},
        {"0.0.0.0/0", "[2001:db8::1]:1", false},
        {"::/0", "127.0.0.1:1", true},
        {"2001:db8::/33", "[2001:db8:7fff::1]:1", true},
        {"2001:db8::/33", "[2001:db8:8000::]:1", false},
        {"::1", "[::1]:1", true},
        {"::/0", "unix:/run/x.sock", false},
    };
    for (const Case& each : cases) {
        const auto network = Network::parse(each.network);
        ASSERT_TRUE(network) << each.network;
        EXPECT_EQ(network->contains(address(each.address)), each.is_in)
            << each.network << ' ' << each.address;
    }
}

TEST(Network, AnyOfSeveralMayContainIt) {
    const Network networks[] = {*Network::parse("10.0.0.0/8"), *Network::parse("::1")};
    EXPECT_TRUE(any_contains(networks, address("10.1.2.3:1")));
    EXPECT_TRUE(any_contains(networks, address("[::1]:1")));
    EXPECT_FALSE(any_contains(networks, address("192.0.2.1:1")));
    EXPECT_FALSE(any_contains({}, address("10.1.2.3:1")));
}

TEST(Network, OneThatIsNoneIsRefused) {
    for (const char* const text : {"", "x", "10.0.0", "10.0.0.0/", "10.0.0.0/33", "::/129", "/8",
                                   "10.0.0.1:80", "[::1]", "[::1]:80", "10.0.0.0/-1", "10.0.0.0/8 ",
                                   "10.0.0.1/8", "2001:db8::1/32", "localhost", "unix:/a"}) {
        EXPECT_FALSE(Network::parse(text)) << text;
    }
}

}  // namespace
}  // namespace tiderace::net
