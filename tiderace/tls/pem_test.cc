#include "tiderace/tls/pem.h"

#include <gtest/gtest.h>

namespace tiderace::tls {
namespace {

constexpr ByteView two =
    "words before\n"
    "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    "\n"
    "-----BEGIN EC PRIVATE KEY-----\r\nBBBB\r\n-----END EC PRIVATE KEY-----\r\n";

TEST(Pem, FindsBlocksAndTheirLines) {
    const PemBlocks found = find_pem_blocks(two);
    ASSERT_EQ(found.blocks.size(), 2U);
    EXPECT_EQ(found.blocks[0].label, "CERTIFICATE");
    EXPECT_EQ(found.blocks[0].line, 2U);
    EXPECT_EQ(found.blocks[0].text, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----");
    EXPECT_EQ(found.blocks[1].label, "EC PRIVATE KEY");
    EXPECT_EQ(found.blocks[1].line, 6U);
    EXPECT_EQ(found.unended_line, 0U);
}

TEST(Pem, TellsABlockThatDoesNotEnd) {
    EXPECT_EQ(find_pem_blocks("\n-----BEGIN CERTIFICATE-----\nAAAA\n").unended_line, 2U);
    EXPECT_EQ(find_pem_blocks("-----BEGIN A-----\n-----END B-----\n").unended_line, 1U);
    EXPECT_EQ(find_pem_blocks("-----BEGIN A-----\n-----BEGIN A-----\n-----END A-----").unended_line,
              1U);
}

TEST(Pem, EveryPrefixIsTakenWithoutHarm) {
    for (std::size_t cut = 0; cut <= two.size(); ++cut) {
        const PemBlocks found = find_pem_blocks(two.substr(0, cut));
        EXPECT_LE(found.blocks.size(), 2U);
    }
    for (const ByteView odd : {"-----BEGIN -----", "-----BEGIN ", "-----END -----", "----------"}) {
        EXPECT_TRUE(find_pem_blocks(odd).blocks.empty()) << odd;
    }
}

}  // namespace
}  // namespace tiderace::tls
