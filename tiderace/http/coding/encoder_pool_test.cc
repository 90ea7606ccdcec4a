#include "tiderace/http/coding/encoder_pool.h"

#include <gtest/gtest.h>

#include <utility>

namespace tiderace::http::coding {
namespace {

using wire::ContentCoding;

class EncoderPoolTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!built_in_codings().gzip) GTEST_SKIP() << "gzip is not built in";
    }
    core::Ref<EncoderPool> pool_ =
        core::make_ref<EncoderPool>(EncoderPoolLimits{.loans_max = 2, .kept_max = 1});
};

TEST_F(EncoderPoolTest, WhatComesBackIsLentAgain) {
    for (int i = 0; i < 5; ++i) {
        auto loan = pool_->borrow(ContentCoding::gzip, Purpose::answer, {});
        EXPECT_TRUE(loan);
        EXPECT_EQ(pool_->loans(), 1u);
    }
    EXPECT_EQ(pool_->loans(), 0u);
    EXPECT_EQ(pool_->made(), 1u);
}

TEST_F(EncoderPoolTest, EachPurposeHasItsOwn) {
    {
        auto loan = pool_->borrow(ContentCoding::gzip, Purpose::answer, {});
    }
    {
        auto loan = pool_->borrow(ContentCoding::gzip, Purpose::events, {});
    }
    EXPECT_EQ(pool_->made(), 2u);
    EXPECT_EQ(pool_->kept(), 2u);
}

TEST_F(EncoderPoolTest, NoMoreAreLentThanTheBoundSays) {
    auto one = pool_->borrow(ContentCoding::gzip, Purpose::answer, {});
    auto two = pool_->borrow(ContentCoding::gzip, Purpose::answer, {});
    EXPECT_FALSE(pool_->borrow(ContentCoding::gzip, Purpose::answer, {}));
    one = {};
    EXPECT_TRUE(pool_->borrow(ContentCoding::gzip, Purpose::answer, {}));
}

TEST_F(EncoderPoolTest, NoMoreMemoryIsLentThanTheBoundSays) {
    pool_ = core::make_ref<EncoderPool>(
        EncoderPoolLimits{.loan_bytes_max = 2 * encoder_bytes_max(Purpose::answer)});
    auto one = pool_->borrow(ContentCoding::gzip, Purpose::answer, {});
    auto events = pool_->borrow(ContentCoding::gzip, Purpose::events, {});
    EXPECT_EQ(pool_->loan_bytes(),
              encoder_bytes_max(Purpose::answer) + encoder_bytes_max(Purpose::events));
    EXPECT_FALSE(pool_->borrow(ContentCoding::gzip, Purpose::answer, {}));
    EXPECT_TRUE(pool_->borrow(ContentCoding::gzip, Purpose::events, {}));
    one = {};
    events = {};
    EXPECT_EQ(pool_->loan_bytes(), 0u);
    EXPECT_TRUE(pool_->borrow(ContentCoding::gzip, Purpose::answer, {}));
}

TEST_F(EncoderPoolTest, NoMoreAreKeptThanTheBoundSays) {
    {
        auto one = pool_->borrow(ContentCoding::gzip, Purpose::answer, {});
        auto two = pool_->borrow(ContentCoding::gzip, Purpose::answer, {});
    }
    EXPECT_EQ(pool_->kept(), 1u);
}

TEST_F(EncoderPoolTest, ALoanMovesAndIsCountedOnce) {
    auto one = pool_->borrow(ContentCoding::gzip, Purpose::answer, {});
    auto two = std::move(one);
    EXPECT_FALSE(one);  // NOLINT(bugprone-use-after-move): moved-from is empty
    EXPECT_TRUE(two);
    EXPECT_EQ(pool_->loans(), 1u);
}

TEST_F(EncoderPoolTest, ALoanOutlivesThePoolsHolder) {
    auto loan = pool_->borrow(ContentCoding::gzip, Purpose::answer, {});
    pool_ = {};
    char room[64];
    EXPECT_TRUE(loan->step({}, room, ContentEncoder::Until::finished).done);
}

}  // namespace
}  // namespace tiderace::http::coding
