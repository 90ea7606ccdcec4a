#include "tiderace/core/address.h"

#include <gtest/gtest.h>

#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace tiderace::core {
namespace {

Address address_of(std::string_view text) {
    Result<Address> address = Address::parse(text);
    EXPECT_TRUE(address) << address.error().message();
    return address ? *address : Address();
}

// Through the kernel's form and back.
Address round_trip(const Address& address) {
    sockaddr_storage storage;
    const socklen_t bytes = address.to_sockaddr(storage);
    auto back = Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage), bytes);
    EXPECT_TRUE(back);
    return back ? *back : Address();
}

std::string ip_of(const Address& address) {
    char text[Address::ip_text_bytes_max];
    return std::string(text, address.format_ip(text));
}

TEST(Address, ReadsEveryFormAndWritesItsOwn) {
    const struct {
        std::string_view text;
        std::string_view shown;
        Address::Family family;
        std::uint16_t port;
    } cases[] = {
        {"127.0.0.1:8080", "127.0.0.1:8080", Address::Family::ip4, 8080},
        {"0.0.0.0:0", "0.0.0.0:0", Address::Family::ip4, 0},
        {"255.254.253.252:65535", "255.254.253.252:65535", Address::Family::ip4, 65535},
        {":8080", "[::]:8080", Address::Family::ip6, 8080},
        {"[::1]:80", "[::1]:80", Address::Family::ip6, 80},
        {"[::]:0", "[::]:0", Address::Family::ip6, 0},
        {"[2001:DB8::0:1]:443", "[2001:db8::1]:443", Address::Family::ip6, 443},
        {"[::ffff:192.0.2.7]:80", "192.0.2.7:80", Address::Family::ip6, 80},
        {"[fe80::1%7]:80", "[fe80::1%7]:80", Address::Family::ip6, 80},
        {"localhost:8080", "127.0.0.1:8080", Address::Family::ip4, 8080},
        {"unix:/run/x.sock", "unix:/run/x.sock", Address::Family::unix_path, 0},
        {"unix:x.sock", "unix:x.sock", Address::Family::unix_path, 0},
        {"unix:/a:80", "unix:/a:80", Address::Family::unix_path, 0},
#if defined(__linux__)
        {"unix:@x", "unix:@x", Address::Family::unix_path, 0},
#endif
    };
    for (const auto& [text, shown, family, port] : cases) {
        const Address address = address_of(text);
        EXPECT_EQ(address.to_string(), shown);
        EXPECT_EQ(address.family(), family) << text;
        EXPECT_EQ(address.port(), port) << text;
        EXPECT_EQ(round_trip(address), address) << text;
        EXPECT_EQ(address_of(address.to_string()).to_string(), shown);
    }
}

TEST(Address, ARefusalSaysWhatIsWrongAndWhatToWrite) {
    const struct {
        std::string text;
        std::string_view advice;
    } cases[] = {
        {"", "it is empty"},
        {"8080", "did you mean :8080"},
        {"127.0.0.1", "did you mean 127.0.0.1:8080"},
        {"/run/x.sock", "did you mean unix:/run/x.sock"},
        {"::1", "in brackets"},
        {"::1:80", "in brackets"},
        {"[::1]", "no port after the ']'"},
        {"[::1:80", "']' is missing"},
        {"[::g]:80", "no IPv6 address"},
        {"[]:80", "no IPv6 address"},
        {"[127.0.0.1]:80", "no IPv6 address"},
        {"[fe80::1%]:80", "no interface"},
        {"[fe80::1%no-such-if]:80", "no interface"},
        {"[" + std::string(300, '1') + "]:80", "no IPv6 address"},
        {"[::1]x:80", "']' is missing"},
        {"127.0.0.1:", "0 to 65535"},
        {":", "0 to 65535"},
        {":65536", "0 to 65535"},
        {":-1", "0 to 65535"},
        {":+80", "0 to 65535"},
        {": 80", "0 to 65535"},
        {":80 ", "0 to 65535"},
        {":http", "0 to 65535"},
        {"256.0.0.1:80", "is no IP address"},
        {"1.2.3:80", "is no IP address"},
        {"01.2.3.4:80", "is no IP address"},
        {"example.com:80", "names are not looked up"},
        {"*:80", "nothing before the ':'"},
        {std::string("127.0.0.1\0:80", 13), "is no IP address"},
        {"unix:", "unix:/run/name.sock"},
        {"unix:" + std::string(108, 'x'), "107 bytes"},
        {std::string("unix:/a\0b", 9), "NUL"},
    };
    for (const auto& [text, advice] : cases) {
        const auto address = Address::parse(text);
        ASSERT_FALSE(address) << text;
        EXPECT_NE(address.error().message().find(advice), std::string::npos)
            << text << " gave: " << address.error().message();
    }
    EXPECT_EQ(Address::parse("8080").error().message(),
              "address \"8080\": there is no ':' before a port; did you mean :8080");
}

TEST(Address, Ip6IsWrittenAsRfc5952Says) {
    const struct {
        std::string_view read;
        std::string_view written;
    } cases[] = {
        {"0:0:0:0:0:0:0:0", "::"},
        {"1:0:0:0:0:0:0:0", "1::"},
        {"0:0:0:0:0:0:0:1", "::1"},
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},  // one group is not shortened
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},           // the longest run
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},     // the first of equals
        {"1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"},
        {"0:0:3:4:5:6:7:8", "::3:4:5:6:7:8"},
        {"ABCD:EF01:0:0:0:0:0:000f", "abcd:ef01::f"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
        {"::fffe:1.2.3.4", "::fffe:102:304"},
    };
    for (const auto& [read, written] : cases) {
        EXPECT_EQ(ip_of(address_of("[" + std::string(read) + "]:1")), written);
    }
}

TEST(Address, TheLongestIpTextFits) {
    const Address address = address_of("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:1");
    EXPECT_EQ(ip_of(address).size(), Address::ip_text_bytes_max);
}

TEST(Address, IpTextIsForLogs) {
    EXPECT_EQ(ip_of(address_of("192.0.2.1:80")), "192.0.2.1");
    EXPECT_EQ(ip_of(address_of("[::ffff:192.0.2.1]:80")), "192.0.2.1");
    EXPECT_EQ(ip_of(address_of("unix:/run/x.sock")), "unix:");
}

TEST(Address, KnowsLoopbackAndAny) {
    for (const char* text : {"127.0.0.1:1", "127.255.0.3:1", "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
        EXPECT_TRUE(address_of(text).is_loopback()) << text;
        EXPECT_FALSE(address_of(text).is_any()) << text;
    }
    for (const char* text : {"0.0.0.0:1", "[::]:1", ":1", "[::ffff:0.0.0.0]:1"}) {
        EXPECT_TRUE(address_of(text).is_any()) << text;
        EXPECT_FALSE(address_of(text).is_loopback()) << text;
    }
    for (const char* text : {"128.0.0.1:1", "1.0.0.0:1", "0.0.0.1:1", "[::2]:1", "[::1:0:0:1]:1",
                             "[100::]:1", "[::100]:1", "unix:/x"}) {
        EXPECT_FALSE(address_of(text).is_loopback()) << text;
        EXPECT_FALSE(address_of(text).is_any()) << text;
    }
}

TEST(Address, CopiesAreIndependent) {
    const Address path = address_of("unix:/run/x.sock");
    Address copy = path;
    EXPECT_EQ(copy, path);
    copy = address_of("127.0.0.1:80");
    EXPECT_EQ(path.path(), "/run/x.sock");
    EXPECT_EQ(copy.path(), "");
    const Address& same = copy;
    copy = same;
    EXPECT_EQ(copy, Address::loopback(80));
    EXPECT_NE(copy, Address::loopback(81));
    EXPECT_NE(copy, address_of("[::ffff:127.0.0.1]:80"));
    EXPECT_EQ(copy, address_of("[::ffff:127.0.0.1]:80").unmapped());
    for (const char* other : {"127.0.0.1:80", "[::1]:80", ":80", "unix:/run/a"}) {
        EXPECT_EQ(address_of(other).unmapped(), address_of(other)) << other;
    }
    EXPECT_EQ(copy.with_port(81), Address::loopback(81));
    EXPECT_EQ(Address(), Address::any(0));
}

TEST(Address, AnInterfaceMayBeNamed) {
    const unsigned loopback = ::if_nametoindex("lo");
    if (loopback == 0) GTEST_SKIP() << "no interface lo";
    EXPECT_EQ(address_of("[fe80::1%lo]:80").to_string(),
              "[fe80::1%" + std::to_string(loopback) + "]:80");
}

TEST(Address, ReadsWhatTheKernelSaysOfUnixPeers) {
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    const auto* from = reinterpret_cast<const sockaddr*>(&local);
    EXPECT_EQ(Address::from_sockaddr(from, sizeof(sa_family_t))->to_string(), "unix:");
    local.sun_path[0] = 'x';  // of another's, behind the length
    EXPECT_EQ(Address::from_sockaddr(from, sizeof(sa_family_t))->to_string(), "unix:");
    std::string("/x").copy(local.sun_path, 2);  // the length may cover the NULs after the path
    EXPECT_EQ(Address::from_sockaddr(from, sizeof(local))->to_string(), "unix:/x");
    std::string(sizeof(local.sun_path), 'p').copy(local.sun_path, sizeof(local.sun_path));
    const auto longest = Address::from_sockaddr(from, sizeof(local));  // without a NUL
    EXPECT_EQ(longest->path().size(), sizeof(local.sun_path));
    EXPECT_EQ(round_trip(*longest), *longest);
    // Linux counts the NUL that it has no room for (unix(7)); what lies behind is no part of it.
    sockaddr_storage behind;
    std::memset(&behind, 'q', sizeof behind);
    std::memcpy(&behind, &local, sizeof local);
    const auto* beyond = reinterpret_cast<const sockaddr*>(&behind);
    EXPECT_EQ(*Address::from_sockaddr(beyond, sizeof(local) + 1), *longest);
    // The length counts the path's NUL wherever there is room for one.
    sockaddr_storage storage;
    constexpr socklen_t offset = sizeof(sa_family_t);
    for (const std::size_t bytes : {1U, 10U, 106U, 107U}) {
        const Address path = address_of("unix:/" + std::string(bytes - 1, 'p'));
        EXPECT_EQ(path.to_sockaddr(storage), offset + bytes + 1) << bytes;
    }
    EXPECT_EQ(longest->to_sockaddr(storage), offset + sizeof(local.sun_path));
    EXPECT_EQ(Address::from_sockaddr(from, offset)->to_sockaddr(storage), offset);
    EXPECT_EQ(round_trip(*Address::from_sockaddr(from, sizeof(sa_family_t))).to_string(), "unix:");
}

TEST(Address, OtherFamiliesAndShortOnesAreRefused) {
    sockaddr_storage storage{};
    const auto* from = reinterpret_cast<const sockaddr*>(&storage);
    EXPECT_FALSE(Address::from_sockaddr(from, sizeof(storage)));
    storage.ss_family = AF_INET;
    EXPECT_FALSE(Address::from_sockaddr(from, sizeof(sockaddr_in) - 1));
    storage.ss_family = AF_INET6;
    EXPECT_FALSE(Address::from_sockaddr(from, sizeof(sockaddr_in)));
}

TEST(Address, ASocketBoundToItSaysTheSame) {
    sockaddr_storage storage;
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(socket, 0);
    socklen_t bytes = Address::loopback(0).to_sockaddr(storage);
    ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&storage), bytes), 0);
    bytes = sizeof(storage);
    ASSERT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &bytes), 0);
    const auto bound = Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage), bytes);
    ::close(socket);
    ASSERT_TRUE(bound);
    EXPECT_TRUE(bound->is_loopback());
    EXPECT_NE(bound->port(), 0);
    EXPECT_EQ(*bound, Address::loopback(bound->port()));
}

TEST(Address, OfIPv6ASubscriberIsTheFirst64Bits) {
    const auto subscriber = [](std::string_view text) {
        const Address address = address_of(text).subscriber();
        char ip[Address::ip_text_bytes_max];
        EXPECT_EQ(address.port(), 0);
        return std::string(ip, address.format_ip(ip));
    };
    EXPECT_EQ(subscriber("[2001:db8:0:1::1]:80"), "2001:db8:0:1::");
    EXPECT_EQ(subscriber("[2001:db8:0:1:ffff::2]:81"), "2001:db8:0:1::");
    EXPECT_EQ(subscriber("[2001:db8:0:2::1]:80"), "2001:db8:0:2::");
    EXPECT_EQ(subscriber("192.0.2.1:80"), "192.0.2.1");
    EXPECT_EQ(subscriber("[::ffff:192.0.2.1]:80"), "192.0.2.1");
    EXPECT_EQ(subscriber("[::1]:80"), "::");
    EXPECT_EQ(subscriber("unix:/a"), "unix:");
    EXPECT_EQ(address_of("unix:/a").subscriber(), address_of("unix:/b").subscriber());
}

TEST(AddressDeathTest, AUnixAddressTakesNoPort) {
    const Address path = address_of("unix:/x");
    EXPECT_DEATH(path.with_port(80), "has no port");
}

}  // namespace
}  // namespace tiderace::core
