#include "tiderace/http/wire/sha256_block.h"

#include <gtest/gtest.h>

#include <array>

#include "tiderace/base/random.h"

namespace tiderace::http::wire {
namespace {

// sha256_test.cc has the known answers of one of the two; here the other has the same.
TEST(Sha256BlockTest, TheProcessorsInstructionsGiveWhatCppGives) {
    const Sha256Absorb by_instructions = absorb_by_instructions();
    if (by_instructions == nullptr) GTEST_SKIP() << "this processor has none";
    Random random(1);
    std::array<unsigned char, 64> block;
    Sha256State one{};
    Sha256State other{};
    for (int round = 0; round < 1'000; ++round) {
        for (auto& byte : block) byte = static_cast<unsigned char>(random.next());
        absorb_in_cpp(one, block.data());
        by_instructions(other, block.data());
        ASSERT_EQ(one, other) << round;
    }
}

// FIPS 180-4: the block of "abc", and the hash as words.
TEST(Sha256BlockTest, CppGivesTheKnownAnswer) {
    std::array<unsigned char, 64> block{'a', 'b', 'c', 0x80};
    block.back() = 24;
    Sha256State state{0x6A09E667U, 0xBB67AE85U, 0x3C6EF372U, 0xA54FF53AU,
                      0x510E527FU, 0x9B05688CU, 0x1F83D9ABU, 0x5BE0CD19U};
    absorb_in_cpp(state, block.data());
    EXPECT_EQ(state, (Sha256State{0xBA7816BFU, 0x8F01CFEAU, 0x414140DEU, 0x5DAE2223U, 0xB00361A3U,
                                  0x96177A9CU, 0xB410FF61U, 0xF20015ADU}));
}

}  // namespace
}  // namespace tiderace::http::wire
