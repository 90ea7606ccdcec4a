#include "load/progress_line.h"

#include <gtest/gtest.h>

namespace tiderace::load {
namespace {

TEST(ProgressLine, IsShorterThanTheTerminalIsWide) {
    EXPECT_EQ(cut_to("1,234 answers", 100), "1,234 answers");
    EXPECT_EQ(cut_to("1,234 answers", 14), "1,234 answers");
    EXPECT_EQ(cut_to("1,234 answers", 13), "1,234 answer");
    EXPECT_EQ(cut_to("1,234 answers", 1), "");
    EXPECT_EQ(cut_to("1,234 answers", 0), "1,234 answers") << "the width is not known";
    EXPECT_EQ(cut_to("", 5), "");
}

TEST(ProgressLine, IsCutBetweenCharacters) {
    EXPECT_EQ(cut_to("82 µs left", 5), "82 µ");
    EXPECT_EQ(cut_to("82 µs left", 4), "82 ");
    EXPECT_EQ(cut_to("µ", 2), "µ");
}

TEST(ProgressLine, GoesToNoFile) {
    std::FILE* file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    ProgressLine line(file);
    EXPECT_FALSE(line.on_terminal());
    line.show("nobody reads it");
    line.clear();
    EXPECT_EQ(std::ftell(file), 0);
    std::fclose(file);
}

}  // namespace
}  // namespace tiderace::load
