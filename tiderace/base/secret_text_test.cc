#include "tiderace/base/secret_text.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tiderace/testing/scarce_memory.h"

namespace tiderace {
namespace {

TEST(SecretText, IsWipedWhenItGrowsAndWhenItEnds) {
    if (!testing::FreedMemory::works) GTEST_SKIP() << testing::FreedMemory::why_not;
    const std::string secret = "a secret too long for a small string";
    std::optional<SecretText> text(secret);
    const testing::FreedMemory freed(secret);
    text->append(10'000, 'x');
    SecretText copy = *text;
    copy = "short";
    copy.shrink_to_fit();
    text.reset();
    EXPECT_EQ(freed.found(), 0);
}

}  // namespace
}  // namespace tiderace
