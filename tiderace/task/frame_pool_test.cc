#include "tiderace/task/frame_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace tiderace::task {
namespace {

TEST(FramePool, BlocksHoldTheRequestedSize) {
    std::vector<std::pair<char*, std::size_t>> blocks;
    for (std::size_t bytes = 1; bytes < 3 * FramePool::frame_bytes_max; bytes += 333) {
        auto* block = static_cast<char*>(FramePool::allocate(bytes));
        std::memset(block, static_cast<int>(bytes), bytes);
        blocks.emplace_back(block, bytes);
    }
    for (auto [block, bytes] : blocks) {
        EXPECT_EQ(block[bytes - 1], static_cast<char>(bytes));
        FramePool::free(block, bytes);
    }
}

#ifndef TIDERACE_SANITIZED

// On a thread of its own, whose pool is not full of what other tests left.
TEST(FramePool, ABlockIsUsedAgainForTheSameSize) {
    std::thread([] {
        void* first = FramePool::allocate(200);
        const std::size_t before = FramePool::kept_bytes();
        FramePool::free(first, 200);
        EXPECT_EQ(FramePool::kept_bytes(), before + 256);
        void* second = FramePool::allocate(193);  // of the same class
        EXPECT_EQ(first, second);
        EXPECT_EQ(FramePool::kept_bytes(), before);
        FramePool::free(second, 193);
    }).join();
}

TEST(FramePool, ALargeFrameIsNotKept) {
    FramePool::free(FramePool::allocate(200), 200);
    const std::size_t before = FramePool::kept_bytes();
    void* large = FramePool::allocate(FramePool::frame_bytes_max + 1);
    FramePool::free(large, FramePool::frame_bytes_max + 1);
    EXPECT_EQ(FramePool::kept_bytes(), before);
}

TEST(FramePool, WhatIsKeptHasABound) {
    std::vector<void*> blocks;
    for (int i = 0; i < 2'000; ++i) blocks.push_back(FramePool::allocate(1'024));
    for (void* block : blocks) FramePool::free(block, 1'024);
    EXPECT_LE(FramePool::kept_bytes(), FramePool::kept_bytes_max);
    EXPECT_GT(FramePool::kept_bytes(), FramePool::kept_bytes_max / 2);
}

#endif

TEST(FramePool, ServesContainers) {
    using Text = std::basic_string<char, std::char_traits<char>, FrameAllocator<char>>;
    Text text;
    for (std::size_t i = 0; i < 2 * FramePool::frame_bytes_max; ++i) text += 'x';
    const Text copy = text;
    text.clear();
    text.shrink_to_fit();
    EXPECT_EQ(copy, Text(2 * FramePool::frame_bytes_max, 'x'));
}

TEST(FramePool, ABlockMayEndOnAnotherThread) {
    void* block = FramePool::allocate(100);
    std::thread([block] { FramePool::free(block, 100); }).join();
}

}  // namespace
}  // namespace tiderace::task
