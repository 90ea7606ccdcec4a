#include "tiderace/http/h2/file_frames.h"

#include <gtest/gtest.h>

namespace tiderace::http {
namespace {

TEST(H2FileFrames, FindsTheFrameThatAByteIsIn) {
    H2FileFrames frames;
    EXPECT_EQ(frames.find(0), nullptr);
    frames.add({.end = 100, .bytes = 50, .stream = 1}, 0);
    frames.add({.end = 300, .bytes = 200, .stream = 3}, 0);
    EXPECT_EQ(frames.find(49), nullptr);
    EXPECT_EQ(frames.find(50)->stream, 1U);
    EXPECT_EQ(frames.find(99)->stream, 1U);
    EXPECT_EQ(frames.find(100)->stream, 3U);
    EXPECT_EQ(frames.find(299)->end, 300U);
    EXPECT_EQ(frames.find(300), nullptr);
}

TEST(H2FileFrames, HaveRoomAgainWhenTheOldestHasLeft) {
    H2FileFrames frames;
    for (std::uint32_t i = 1; i <= H2FileFrames::frames_max; ++i) {
        EXPECT_TRUE(frames.has_room(0));
        frames.add({.end = 100 * i, .bytes = 100, .stream = i}, 0);
    }
    EXPECT_FALSE(frames.has_room(0));
    EXPECT_FALSE(frames.has_room(99));
    EXPECT_TRUE(frames.has_room(100));
    EXPECT_EQ(frames.find(0)->stream, 1U);
    const std::uint64_t next = H2FileFrames::frames_max + 1;
    frames.add({.end = 100 * next, .bytes = 100, .stream = static_cast<std::uint32_t>(next)}, 100);
    EXPECT_FALSE(frames.has_room(199));
    EXPECT_EQ(frames.find(100)->stream, 2U);
    EXPECT_EQ(frames.find(100 * (next - 1))->stream, next);
    EXPECT_DEATH(frames.add({.end = 100 * (next + 1), .bytes = 100, .stream = 1}, 199), "queue");
}

TEST(H2FileFrames, MovesThemAndLetsThemGo) {
    H2FileFrames frames;
    for (std::uint32_t i = 1; i <= 3; ++i) {
        frames.add({.end = 100 * i, .bytes = 90, .stream = i}, 0);
    }
    frames.move(200, 0);
    frames.move(300, 200);
    frames.move(1'000, 0);
    EXPECT_EQ(frames.find(150)->stream, 3U);
    EXPECT_EQ(frames.find(150)->end, 200U);
    EXPECT_EQ(frames.find(250), nullptr);
    EXPECT_EQ(frames.find(50)->stream, 1U);
}

}  // namespace
}  // namespace tiderace::http
