#include "tiderace/core/peer_address.h"

#include <gtest/gtest.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

#include "tiderace/testing/scarce_memory.h"

namespace tiderace::core {
namespace {

struct Raw {
    sockaddr_storage storage{};
    socklen_t bytes = 0;

    explicit Raw(const char* text) { bytes = Address::parse(text)->to_sockaddr(storage); }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

TEST(PeerAddress, IsThatOfTheSocket) {
    for (const char* text : {"127.0.0.1:80", "[::1]:80", "unix:/run/a"}) {
        const Raw raw(text);
        EXPECT_EQ(peer_address(raw.get(), raw.bytes).to_string(), text);
    }
}

TEST(PeerAddress, WhatWeDoNotKnowIsNone) {
    sockaddr_storage unknown{};
    unknown.ss_family = AF_UNSPEC;
    const auto* const raw = reinterpret_cast<const sockaddr*>(&unknown);
    EXPECT_EQ(peer_address(raw, sizeof unknown), Address{});
    EXPECT_EQ(peer_address(Raw("127.0.0.1:80").get(), 0), Address{}) << "nothing was written";
}

TEST(PeerAddress, AUnixPeerWithoutANameIsOneAllTheSame) {
    sockaddr_storage unnamed{};
    unnamed.ss_family = AF_UNIX;
    const auto* const raw = reinterpret_cast<const sockaddr*>(&unnamed);
    constexpr socklen_t family_alone = offsetof(sockaddr, sa_data);
    EXPECT_TRUE(peer_address(raw, family_alone).is_unix());
    EXPECT_FALSE(peer_address(raw, family_alone - 1).is_unix()) << "the family was not written";
}

TEST(PeerAddress, WithoutMemoryAnIpAddressIsWholeAndAUnixOneHasNoName) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    for (const char* text : {"127.0.0.1:80", "[::1]:80"}) {
        const Raw raw(text);
        const testing::ScarceMemory scarce(1);
        const Address address = peer_address(raw.get(), raw.bytes);
        EXPECT_FALSE(scarce.failed());
        EXPECT_EQ(address.port(), 80);
    }
    const Raw named("unix:/run/a/name/that/needs/an/allocation/of/its/own");
    for (const std::uint64_t nth : {1, 2}) {
        const testing::ScarceMemory scarce(nth);
        const Address address = peer_address(named.get(), named.bytes);
        EXPECT_TRUE(scarce.failed());
        EXPECT_TRUE(address.is_unix());
        EXPECT_EQ(address.path(), "");
    }
    sockaddr_storage unknown{};
    unknown.ss_family = AF_UNSPEC;
    const testing::ScarceMemory scarce(1);
    EXPECT_EQ(peer_address(reinterpret_cast<const sockaddr*>(&unknown), sizeof unknown), Address{});
}

}  // namespace
}  // namespace tiderace::core
