#include "tiderace/base/constant_time.h"

#include <gtest/gtest.h>

namespace tiderace {
namespace {

TEST(ConstantTime, TextsAreEqualOrNot) {
    EXPECT_TRUE(equals_in_constant_time("", ""));
    EXPECT_TRUE(equals_in_constant_time("secret", "secret"));
    EXPECT_FALSE(equals_in_constant_time("secret", ""));
    EXPECT_FALSE(equals_in_constant_time("", "secret"));
    EXPECT_FALSE(equals_in_constant_time("", ByteView("\0", 1)));
    EXPECT_FALSE(equals_in_constant_time("secret", "secreT"));
    EXPECT_FALSE(equals_in_constant_time("ab", "abab"));
}

}  // namespace
}  // namespace tiderace
