#include "tiderace/http/client/answer_memory.h"

#include <gtest/gtest.h>

namespace tiderace::http {
namespace {

TEST(AnswerMemory, SharesHaveOneBoundAndGiveBackWhatTheyTook) {
    const auto memory = core::make_ref<AnswerMemory>(100);
    {
        AnswerShare one(memory);
        AnswerShare other(memory);
        EXPECT_TRUE(one.resize(60));
        EXPECT_FALSE(other.resize(41));
        EXPECT_EQ(other.bytes(), 0U);
        EXPECT_EQ(memory->refused(), 1U);
        EXPECT_TRUE(other.resize(40));
        EXPECT_EQ(memory->taken(), 100U);
        EXPECT_FALSE(one.resize(61));
        EXPECT_EQ(one.bytes(), 60U);
        EXPECT_TRUE(one.resize(10));
        EXPECT_TRUE(other.resize(90));
        EXPECT_EQ(memory->taken(), 100U);
    }
    EXPECT_EQ(memory->taken(), 0U);
    EXPECT_EQ(memory->taken_most(), 100U);
    EXPECT_EQ(memory->refused(), 2U);
    AnswerShare last(memory);
    EXPECT_FALSE(last.resize(static_cast<std::size_t>(-1)));
}

}  // namespace
}  // namespace tiderace::http
