#include "examples/kv/text.h"

#include <string>

#include <gtest/gtest.h>

namespace kv {
namespace {

class Texts : public ::testing::Test {
  protected:
    core::Ref<LooseBytes> loose = core::make_ref<LooseBytes>();
    const std::string large = std::string(1 << 20, 'x');
    Text text{large};
};

TEST_F(Texts, ASharedTextIsOneBlockForAll) {
    const char* const before = text.view().data();
    const auto first = text.share(loose);
    const auto second = text.share(loose);
    EXPECT_EQ(first.get(), second.get());
    EXPECT_EQ(first->view().data(), before) << "moved, not copied";
    EXPECT_EQ(text.view().data(), before);
    EXPECT_EQ(loose->bytes, 0U) << "the key holds it";
}

TEST_F(Texts, AnAnswerKeepsTheTextAsItWas) {
    auto answer = text.share(loose);
    text.edit().append("more");
    EXPECT_EQ(text.view(), large + "more");
    EXPECT_EQ(answer->view(), large);
    EXPECT_GE(loose->bytes, large.size());
    answer = {};
    EXPECT_EQ(loose->bytes, 0U);
}

TEST_F(Texts, WithoutAnAnswerItIsEditedInPlace) {
    const char* const before = text.view().data();
    text.share(loose);
    EXPECT_EQ(text.edit().data(), before);
    EXPECT_EQ(loose->bytes, 0U);
}

TEST_F(Texts, EachWayInWhichAKeyLosesItsTextMakesTheBlockLoose) {
    const auto loses = [this](auto&& lose) {
        const auto answer = text.share(loose);
        lose();
        EXPECT_EQ(answer->view(), large);
        EXPECT_GE(loose->bytes, large.size());
        text = Text(large);
    };
    loses([this] { text.assign("short"); });
    loses([this] { text = Text("another"); });
    loses([this] { Text gone = std::move(text); });
    EXPECT_EQ(loose->bytes, 0U);
}

TEST_F(Texts, AMovedTextIsStillHeldByItsKey) {
    const auto answer = text.share(loose);
    Text renamed = std::move(text);
    EXPECT_EQ(renamed.view(), large);
    EXPECT_EQ(loose->bytes, 0U);
}

TEST_F(Texts, AShortTextDoesNotKeepTheMemoryOfALongOne) {
    text.assign("short");
    EXPECT_LT(text.edit().capacity(), 1024U);
    text.assign("a short text of sixty bytes or so, which a string does not hold inside");
    const char* const before = text.view().data();
    text.assign("another one, not quite as long as it was before it came here");
    EXPECT_EQ(text.view().data(), before) << "memory of about the same size is used again";
}

}  // namespace
}  // namespace kv
