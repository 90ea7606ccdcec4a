#include "tiderace/base/check.h"

#include <gtest/gtest.h>

namespace tiderace {
namespace {

TEST(Check, ATrueConditionIsEvaluatedOnceAndPasses) {
    int evaluated = 0;
    TR_CHECK(++evaluated == 1);
    TR_CHECK(++evaluated == 2, "with words");
    EXPECT_EQ(evaluated, 2);
}

TEST(Check, IsAnExpression) {
    const auto checked = [](int value) { return TR_CHECK(value > 0), value; };
    EXPECT_EQ(checked(7), 7);
}

TEST(CheckDeathTest, SaysWhereAndWhatAndWhy) {
    EXPECT_DEATH(TR_CHECK(1 + 1 == 3, "arithmetic"),
                 "check_test.cc:[0-9]+: check failed: 1 \\+ 1 == 3: arithmetic");
}

TEST(CheckDeathTest, WithoutWordsEndsAtTheCondition) {
    EXPECT_DEATH(TR_CHECK(false), "check failed: false\n");
}

}  // namespace
}  // namespace tiderace
