#include "tiderace/log/collecting_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace tiderace::log {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(CollectingSink, SplitsABatchIntoLines) {
    const auto lines = std::make_shared<CollectingSink::Lines>();
    CollectingSink sink(lines);
    EXPECT_EQ(sink.write("one\n\nthree\n").bytes, 11U);
    EXPECT_THAT(lines->all(), ElementsAre("one", "", "three"));
}

TEST(CollectingSink, WaitsForLinesFromAnotherThread) {
    const auto lines = std::make_shared<CollectingSink::Lines>();
    std::thread writer([sink = CollectingSink(lines)]() mutable {
        for (int i = 0; i < 10; ++i) sink.write("line\n");
    });
    EXPECT_THAT(lines->wait_for(10), SizeIs(10));
    writer.join();
}

TEST(CollectingSink, LinesOutliveTheSink) {
    const auto lines = std::make_shared<CollectingSink::Lines>();
    CollectingSink(lines).write("last\n");
    EXPECT_THAT(lines->all(), ElementsAre("last"));
}

}  // namespace
}  // namespace tiderace::log
