#include "tiderace/http/cgi/error_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tiderace/log/doorbell.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::http::cgi {
namespace {

using ::testing::HasSubstr;

class ErrorLinesTest : public ::testing::Test {
  protected:
    std::string logged() { return log::take_all(ring_); }

    log::Doorbell bell_;
    log::Ring ring_{256_KiB, bell_};
    log::SystemTime time_;
    log::Logger logger_{ring_, time_};
    std::string program_ = "/cgi-bin/x";
    ErrorLines lines_{&logger_, program_};
};

TEST_F(ErrorLinesTest, EachLineIsALineOfTheLog) {
    lines_.feed("one\r\nt");
    lines_.feed("wo\n\nthree");
    lines_.end();
    const std::string text = logged();
    EXPECT_EQ(std::ranges::count(text, '\n'), 3);
    EXPECT_THAT(text, HasSubstr("line=one"));
    EXPECT_THAT(text, HasSubstr("line=two"));
    EXPECT_THAT(text, HasSubstr("line=three"));
    EXPECT_THAT(text, HasSubstr("program=/cgi-bin/x"));
}

TEST_F(ErrorLinesTest, LongLinesAndControlCharactersAreCut) {
    lines_.feed("a\x1b[2J" + std::string(10'000, 'x') + "\n");
    const std::string text = logged();
    EXPECT_THAT(text, HasSubstr("a?[2J"));
    EXPECT_LT(text.size(), ErrorLines::line_bytes_max + 300);
}

TEST_F(ErrorLinesTest, AFloodIsCutShort) {
    for (int i = 0; i < 10'000; ++i) lines_.feed("flood\n");
    lines_.end();
    const std::string text = logged();
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(text, '\n')), ErrorLines::lines_max + 1);
    EXPECT_THAT(text, HasSubstr("too many lines"));
}

// A program whose lines find no memory must still be served, and ended.
TEST_F(ErrorLinesTest, WithoutMemoryALineIsLostAndNothingIsThrown) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    {
        const testing::ScarceMemory scarce(1);
        EXPECT_NO_THROW(lines_.feed("a line that is longer than a string is without memory\n"));
        EXPECT_TRUE(scarce.failed());
    }
    lines_.feed("next\n");
    EXPECT_THAT(logged(), HasSubstr("line=next"));
}

TEST_F(ErrorLinesTest, NeedsNoLog) {
    ErrorLines none(nullptr, program_);
    none.feed("one\n");
    none.end();
    EXPECT_EQ(logged(), "");
}

}  // namespace
}  // namespace tiderace::http::cgi
