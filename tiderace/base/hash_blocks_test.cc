#include "tiderace/base/hash_blocks.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace {
namespace {

// Every length about a block's, in any pieces: whole blocks, then the padding of FIPS 180-4, 5.1.1.
TEST(HashBlocks, AMessageIsPaddedToWholeBlocks) {
    for (const std::size_t length : {0U, 1U, 55U, 56U, 63U, 64U, 65U, 119U, 120U, 128U}) {
        std::string expected(length, 'm');
        expected += '\x80';
        while (expected.size() % 64 != 56) expected += '\0';
        for (int shift = 56; shift >= 0; shift -= 8) {
            expected += static_cast<char>(std::uint64_t{length} * 8 >> shift);
        }
        for (const std::size_t piece : {1U, 7U, 64U, 200U}) {
            std::string absorbed;
            const auto absorb = [&](const unsigned char* block) {
                absorbed.append(reinterpret_cast<const char*>(block), HashBlocks::bytes);
            };
            HashBlocks blocks;
            const std::string message(length, 'm');
            for (std::size_t at = 0; at < length; at += piece) {
                blocks.add(ByteView(message).substr(at, piece), absorb);
            }
            blocks.end(absorb);
            EXPECT_EQ(absorbed, expected) << length << " in pieces of " << piece;
        }
    }
}

TEST(HashBlocks, WordsAndDigestsAreBigEndian) {
    const unsigned char block[8] = {0, 0, 0, 0, 1, 2, 3, 255};
    EXPECT_EQ(HashBlocks::word(block, 1), 0x010203FFU);
    const std::array<std::uint8_t, 8> digest = HashBlocks::digest<2>({0x01020304U, 0xFF000000U});
    EXPECT_EQ(digest, (std::array<std::uint8_t, 8>{1, 2, 3, 4, 255, 0, 0, 0}));
}

}  // namespace
}  // namespace tiderace
