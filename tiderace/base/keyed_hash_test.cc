#include "tiderace/base/keyed_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tiderace {
namespace {

// The vectors of the paper's appendix and its reference program: key 00 01 … 0f, bytes 00 01 ….
TEST(KeyedHash, IsTheSipHashOfItsAuthors) {
    const SipKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
    std::string bytes;
    for (char c = 0; c < 15; ++c) bytes += c;
    EXPECT_EQ((sip_hash<2, 4>("", key)), 0x726fdb47dd0e0e31u);
    EXPECT_EQ((sip_hash<2, 4>(bytes.substr(0, 1), key)), 0x74f839c593dc67fdu);
    EXPECT_EQ((sip_hash<2, 4>(bytes.substr(0, 2), key)), 0x0d6c8009d9a94f5au);
    EXPECT_EQ((sip_hash<2, 4>(bytes.substr(0, 3), key)), 0x85676696d7fb7e2du);
    EXPECT_EQ((sip_hash<2, 4>(bytes.substr(0, 4), key)), 0xcf2794e0277187b7u);
    EXPECT_EQ((sip_hash<2, 4>(bytes.substr(0, 5), key)), 0x18765564cd99a68du);
    EXPECT_EQ((sip_hash<2, 4>(bytes.substr(0, 6), key)), 0xcbc9466e58fee3ceu);
    EXPECT_EQ((sip_hash<2, 4>(bytes.substr(0, 7), key)), 0xab0200f58b01d137u);
    EXPECT_EQ((sip_hash<2, 4>(bytes.substr(0, 8), key)), 0x93f5f5799a932462u);
    EXPECT_EQ((sip_hash<2, 4>(bytes, key)), 0xa129ca6149be45e5u);
}

TEST(KeyedHash, OfTwoTablesShareNothing) {
    const KeyedHash one, other;
    const KeyedHash copy = one;
    std::set<std::size_t> seen;
    for (int i = 0; i < 100; ++i) {
        const std::string name = "topic/" + std::to_string(i);
        EXPECT_EQ(one(name), copy(name));
        EXPECT_NE(one(name), other(name));
        seen.insert(one(name));
    }
    EXPECT_EQ(seen.size(), 100u);
}

TEST(KeyedHash, DependsOnEveryByteAndOnTheLength) {
    const KeyedHash hash(SipKey{1, 2});
    for (std::size_t length = 1; length < 20; ++length) {
        const std::string zeros(length, '\0');
        EXPECT_NE(hash(zeros), hash(zeros.substr(1))) << length;
        for (std::size_t at = 0; at < length; ++at) {
            std::string other = zeros;
            other[at] = '\x80';
            EXPECT_NE(hash(other), hash(zeros)) << length << ' ' << at;
        }
    }
}

}  // namespace
}  // namespace tiderace
