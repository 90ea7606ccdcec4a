#include "tiderace/testing/split_feed.h"

#include <gtest/gtest.h>

#include "tiderace/testing/echo_session.h"

namespace tiderace::testing {
namespace {

TEST(AtEverySplit, GivesTheWholeEachCutAndEachByte) {
    std::vector<std::string> seen;
    at_every_split("abc", [&](std::span<const ByteView> pieces, const std::string& how) {
        std::string line = how + ':';
        for (const ByteView piece : pieces) line.append(" ").append(piece);
        seen.push_back(line);
    });
    EXPECT_EQ(seen, (std::vector<std::string>{"whole: abc", "cut at 1: a bc", "cut at 2: ab c",
                                              "byte by byte: a b c"}));
}

TEST(FeedAtEverySplit, GivesASessionItsInputInEveryWay) {
    EchoSessions sessions;
    int feedings = 0;
    feed_at_every_split("hello world", sessions, [&](const Fed& fed) {
        ++feedings;
        EXPECT_EQ(fed.answer, "hello world") << fed.how;
        EXPECT_FALSE(fed.ended || fed.was_reset) << fed.how;
    });
    EXPECT_EQ(feedings, 12);
    EXPECT_EQ(sessions.closed, 12U);
}

}  // namespace
}  // namespace tiderace::testing
