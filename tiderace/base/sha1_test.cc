#include "tiderace/base/sha1.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace {
namespace {

std::string hex(ByteView bytes) {
    std::string out;
    for (const std::uint8_t byte : sha1(bytes)) {
        out += "0123456789abcdef"[byte >> 4];
        out += "0123456789abcdef"[byte & 15];
    }
    return out;
}

TEST(Sha1, MatchesTheVectorsOfTheStandard) {
    EXPECT_EQ(hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    EXPECT_EQ(hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    EXPECT_EQ(hex(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

// 55, 56, 63 and 64 bytes are where the padding changes its shape.
TEST(Sha1, PadsEveryLengthRoundABlock) {
    EXPECT_EQ(hex(std::string(55, 'a')), "c1c8bbdc22796e28c0e15163d20899b65621d65a");
    EXPECT_EQ(hex(std::string(56, 'a')), "c2db330f6083854c99d4b5bfb6e8f29f201be699");
    EXPECT_EQ(hex(std::string(63, 'a')), "03f09f5b158a7a8cdad920bddc29b81c18a551f5");
    EXPECT_EQ(hex(std::string(64, 'a')), "0098ba824b5c16427bd7a1122a5a442a25ec644d");
}

TEST(Sha1, AMessageMayComeInPieces) {
    const std::string text(1'000, 'a');
    for (const std::size_t piece : {1U, 7U, 63U, 64U, 65U, 999U}) {
        Sha1Message message;
        for (std::size_t at = 0; at < text.size(); at += piece) {
            message.add(ByteView(text).substr(at, piece));
        }
        EXPECT_EQ(message.end(), sha1(text)) << piece;
    }
}

}  // namespace
}  // namespace tiderace
