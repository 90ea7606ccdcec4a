#include "tiderace/base/byte_block.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace {
namespace {

#if TR_HAS_BYTE_BLOCK

TEST(ByteBlockTest, AShortTextIsLookedAtWhole) {
    for (std::size_t size = 1; size <= ByteBlock::width; ++size) {
        const std::string plain(size, 'a');
        EXPECT_EQ(block_of_short(plain.data(), size).equal('a').inverted_bits(), 0U) << size;
        EXPECT_EQ(block_of_short(plain.data(), size).equal('x').bits(), 0U) << size;
        for (std::size_t at = 0; at < size; ++at) {
            std::string text = plain;
            text[at] = 'x';
            EXPECT_NE(block_of_short(text.data(), size).equal('x').bits(), 0U)
                << at << " of " << size;
        }
    }
}

#endif

}  // namespace
}  // namespace tiderace
