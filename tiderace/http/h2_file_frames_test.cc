#include "tiderace/http/h2_file_frames.h"

#include <gtest/gtest.h>

namespace tiderace::http {
namespace {

TEST(H2FileFrames, FindsTheFrameThatAByteIsIn) {
    H2FileFrames frames;
    EXPECT_EQ(frames.find(0), nullptr);
    frames.add({.end = 100, .bytes = 50, .stream = 1});
    frames.add({.end = 300, .bytes = 200, .stream = 3});
    EXPECT_EQ(frames.find(49), nullptr);
    EXPECT_EQ(frames.find(50)->stream, 1U);
    EXPECT_EQ(frames.find(99)->stream, 1U);
    EXPECT_EQ(frames.find(100)->stream, 3U);
    EXPECT_EQ(frames.find(299)->end, 300U);
    EXPECT_EQ(frames.find(300), nullptr);
}

TEST(H2FileFrames, ForgetsTheOldest) {
    H2FileFrames frames;
    for (std::uint32_t i = 1; i <= H2FileFrames::frames_max + 1; ++i) {
        frames.add({.end = 100 * i, .bytes = 100, .stream = i});
    }
    EXPECT_EQ(frames.find(0), nullptr);
    EXPECT_EQ(frames.find(100)->stream, 2U);
    EXPECT_EQ(frames.find(100 * H2FileFrames::frames_max)->stream, H2FileFrames::frames_max + 1);
}

TEST(H2FileFrames, MovesThemAndLetsThemGo) {
    H2FileFrames frames;
    for (std::uint32_t i = 1; i <= 3; ++i) frames.add({.end = 100 * i, .bytes = 90, .stream = i});
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
