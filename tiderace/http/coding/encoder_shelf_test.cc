#include "tiderace/http/coding/encoder_shelf.h"

#include <gtest/gtest.h>

#include <utility>

namespace tiderace::http::coding {
namespace {

using wire::ContentCoding;

class EncoderShelfTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!built_in_codings().gzip) GTEST_SKIP() << "gzip is not built in";
    }
    core::Ref<EncoderShelf> shelf_ =
        core::make_ref<EncoderShelf>(ShelfLimits{.loans_max = 2, .kept_max = 1});
};

TEST_F(EncoderShelfTest, WhatComesBackIsLentAgain) {
    for (int i = 0; i < 5; ++i) {
        auto loan = shelf_->borrow(ContentCoding::gzip, Purpose::answer, {});
        EXPECT_TRUE(loan);
        EXPECT_EQ(shelf_->loans(), 1u);
    }
    EXPECT_EQ(shelf_->loans(), 0u);
    EXPECT_EQ(shelf_->made(), 1u);
}

TEST_F(EncoderShelfTest, EachPurposeHasItsOwn) {
    {
        auto loan = shelf_->borrow(ContentCoding::gzip, Purpose::answer, {});
    }
    {
        auto loan = shelf_->borrow(ContentCoding::gzip, Purpose::events, {});
    }
    EXPECT_EQ(shelf_->made(), 2u);
    EXPECT_EQ(shelf_->kept(), 2u);
}

TEST_F(EncoderShelfTest, NoMoreAreLentThanTheBoundSays) {
    auto one = shelf_->borrow(ContentCoding::gzip, Purpose::answer, {});
    auto two = shelf_->borrow(ContentCoding::gzip, Purpose::answer, {});
    EXPECT_FALSE(shelf_->borrow(ContentCoding::gzip, Purpose::answer, {}));
    one = {};
    EXPECT_TRUE(shelf_->borrow(ContentCoding::gzip, Purpose::answer, {}));
}

TEST_F(EncoderShelfTest, NoMoreMemoryIsLentThanTheBoundSays) {
    shelf_ = core::make_ref<EncoderShelf>(
        ShelfLimits{.loan_bytes_max = 2 * encoder_bytes_max(Purpose::answer)});
    auto one = shelf_->borrow(ContentCoding::gzip, Purpose::answer, {});
    auto events = shelf_->borrow(ContentCoding::gzip, Purpose::events, {});
    EXPECT_EQ(shelf_->loan_bytes(),
              encoder_bytes_max(Purpose::answer) + encoder_bytes_max(Purpose::events));
    EXPECT_FALSE(shelf_->borrow(ContentCoding::gzip, Purpose::answer, {}));
    EXPECT_TRUE(shelf_->borrow(ContentCoding::gzip, Purpose::events, {}));
    one = {};
    events = {};
    EXPECT_EQ(shelf_->loan_bytes(), 0u);
    EXPECT_TRUE(shelf_->borrow(ContentCoding::gzip, Purpose::answer, {}));
}

TEST_F(EncoderShelfTest, NoMoreAreKeptThanTheBoundSays) {
    {
        auto one = shelf_->borrow(ContentCoding::gzip, Purpose::answer, {});
        auto two = shelf_->borrow(ContentCoding::gzip, Purpose::answer, {});
    }
    EXPECT_EQ(shelf_->kept(), 1u);
}

TEST_F(EncoderShelfTest, ALoanMovesAndIsCountedOnce) {
    auto one = shelf_->borrow(ContentCoding::gzip, Purpose::answer, {});
    auto two = std::move(one);
    EXPECT_FALSE(one);  // NOLINT(bugprone-use-after-move): moved-from is empty
    EXPECT_TRUE(two);
    EXPECT_EQ(shelf_->loans(), 1u);
}

TEST_F(EncoderShelfTest, ALoanOutlivesTheShelfsHolder) {
    auto loan = shelf_->borrow(ContentCoding::gzip, Purpose::answer, {});
    shelf_ = {};
    char room[64];
    EXPECT_TRUE(loan->step({}, room, ContentEncoder::Until::finished).done);
}

}  // namespace
}  // namespace tiderace::http::coding
