#include "tiderace/net/lan_address.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace tiderace::net {
namespace {

using Addresses = std::vector<std::string>;

TEST(LanAddresses, PutsTheLikeliestFirst) {
    const std::vector<InterfaceAddress> interfaces{
        {"eth3", "2001:db8::7"}, {"eth2", "203.0.113.9"}, {"docker0", "172.17.0.1"},
        {"eth1", "172.20.0.5"},  {"eth0", "10.1.2.3"},    {"wlan0", "192.168.1.20"},
    };
    EXPECT_EQ(lan_addresses(interfaces), (Addresses{"192.168.1.20", "10.1.2.3", "172.20.0.5",
                                                    "203.0.113.9", "2001:db8::7", "172.17.0.1"}));
}

TEST(LanAddresses, LeavesOutAddressesThatNoOtherMachineReaches) {
    const std::vector<InterfaceAddress> interfaces{
        {"lo", "127.0.0.1", true, true},
        {"lo", "10.0.0.1", true, true},
        {"eth0", "192.168.1.2", false},
        {"eth1", "169.254.3.4"},
        {"eth1", "fe80::1"},
        {"eth1", "::1"},
        {"eth1", "0.0.0.0"},
        {"eth1", "224.0.0.1"},
        {"eth1", "ff02::1"},
        {"eth1", "::ffff:10.0.0.1"},
        {"eth1", "not an address"},
        {"eth1", ""},
    };
    EXPECT_EQ(lan_addresses(interfaces), Addresses{});
}

TEST(LanAddresses, KnowsWherePrivateRangesEnd) {
    const std::vector<InterfaceAddress> interfaces{
        {"a", "172.15.0.1"}, {"a", "172.32.0.1"}, {"a", "172.31.0.1"}, {"a", "172.16.0.1"}};
    EXPECT_EQ(lan_addresses(interfaces),
              (Addresses{"172.31.0.1", "172.16.0.1", "172.15.0.1", "172.32.0.1"}));
}

TEST(LanAddresses, NamesAnAddressOnce) {
    const std::vector<InterfaceAddress> interfaces{{"a", "10.0.0.1"}, {"b", "10.0.0.1"}};
    EXPECT_EQ(lan_addresses(interfaces), Addresses{"10.0.0.1"});
}

TEST(InterfaceAddresses, OfThisMachineAreNumeric) {
    int seen = 0;
    for (const InterfaceAddress& found : interface_addresses()) {
        EXPECT_FALSE(found.interface.empty());
        EXPECT_EQ(found.address.find_first_not_of("0123456789abcdef.:"), std::string::npos)
            << found.address;
        const bool loops = found.interface == "lo" || found.interface == "lo0";
        EXPECT_EQ(found.is_loopback, loops) << found.interface;
        if (loops) {
            EXPECT_TRUE(found.is_up);
        }
        seen += loops;
    }
    if (seen == 0) GTEST_SKIP() << "no loopback interface here";
}

TEST(HostName, IsTheKernels) {
    utsname facts{};
    ASSERT_EQ(::uname(&facts), 0);
    EXPECT_EQ(host_name(), facts.nodename);
}

}  // namespace
}  // namespace tiderace::net
