#include "tiderace/log/logger.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/log/ring_fixture.h"

namespace tiderace::log {
namespace {

class StoppedTime final : public TimeSource {
  public:
    std::int64_t unix_ms() override { return now_ms; }
    std::int64_t now_ms = 1'795'262'400'125;  // 2026-11-21T12:00:00.125Z
};

class LoggerTest : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(bell_.open()); }

    // What the writer would see.
    std::string published() { return take_all(ring_); }

    StoppedTime time_;
    Doorbell bell_;
    Ring ring_{16_KiB, bell_};
};

TEST_F(LoggerTest, StampsAndRendersARecord) {
    Logger logger(ring_, time_);
    logger.info("net", "listening", field("address", "[::]:8080"), field("loops", 4));
    time_.now_ms += 1'000;
    logger.error("net", "no fields");
    EXPECT_EQ(published(),
              "2026-11-21T12:00:00.125Z info net: listening address=[::]:8080 loops=4\n"
              "2026-11-21T12:00:01.125Z error net: no fields\n");
}

TEST_F(LoggerTest, WritesJsonWhenAsked) {
    Logger logger(ring_, time_, {.format = Format::json});
    logger.info("net", "listening", field("loops", 4));
    EXPECT_EQ(published(), R"({"time":"2026-11-21T12:00:00.125Z","level":"info","scope":"net",)"
                           R"("text":"listening","loops":4})"
                           "\n");
}

TEST_F(LoggerTest, TheLevelDecidesAtRunTime) {
    BasicLogger<Level::trace> logger(ring_, time_);
    struct Case {
        Level level;
        std::string_view letters;
    };
    const Case cases[] = {{Level::trace, "tdiwe"}, {Level::debug, "diwe"}, {Level::info, "iwe"},
                          {Level::warning, "we"},  {Level::error, "e"},    {Level::off, ""}};
    for (const Case& c : cases) {
        logger.set_level(c.level);
        logger.trace("s", "t");
        logger.debug("s", "d");
        logger.info("s", "i");
        logger.warning("s", "w");
        logger.error("s", "e");
        const std::string all = published();
        std::string letters;  // the last of each line
        for (std::size_t i = 1; i < all.size(); ++i) {
            if (all[i] == '\n') letters += all[i - 1];
        }
        EXPECT_EQ(letters, c.letters) << to_string(c.level);
        EXPECT_EQ(logger.enabled(Level::error), c.level <= Level::error);
        EXPECT_EQ(logger.enabled(Level::trace), c.level == Level::trace);
    }
}

TEST_F(LoggerTest, TheCompiledFloorHoldsWhateverTheLevel) {
    BasicLogger<Level::warning> logger(ring_, time_, {.level = Level::trace});
    logger.trace("s", "not compiled");
    logger.debug("s", "not compiled");
    logger.info("s", "not compiled");
    EXPECT_EQ(published(), "");
    EXPECT_FALSE(logger.enabled(Level::info));
    EXPECT_TRUE(logger.enabled(Level::warning));
    logger.warning("s", "compiled");
    EXPECT_EQ(published(), "2026-11-21T12:00:00.125Z warning s: compiled\n");
}

TEST_F(LoggerTest, ALoopPublishesAtTheEndOfItsTurn) {
    Logger logger(ring_, time_, {.publish = Publish::by_owner});
    logger.info("core", "one");
    logger.info("core", "two");
    EXPECT_EQ(published(), "");
    logger.publish();
    EXPECT_EQ(published(),
              "2026-11-21T12:00:00.125Z info core: one\n2026-11-21T12:00:00.125Z info core: two\n");
}

TEST_F(LoggerTest, AWarningInALoopGoesAtOnceWithAllBeforeIt) {
    Logger logger(ring_, time_, {.publish = Publish::by_owner});
    logger.info("core", "before");
    logger.warning("core", "descriptors are short");
    EXPECT_EQ(published(),
              "2026-11-21T12:00:00.125Z info core: before\n"
              "2026-11-21T12:00:00.125Z warning core: descriptors are short\n");
}

TEST_F(LoggerTest, AFullRingDropsTheRecordAndCounts) {
    Ring small(record_bytes_max, bell_);
    Logger logger(small, time_);
    logger.info("s", "fits");
    logger.info("s", "does not: a record may need all of this ring");
    EXPECT_EQ(small.dropped(), 1U);
}

}  // namespace
}  // namespace tiderace::log
