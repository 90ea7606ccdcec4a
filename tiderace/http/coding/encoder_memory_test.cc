#include "tiderace/http/coding/encoder_memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tiderace::http::coding {
namespace {

TEST(EncoderMemory, WhatWasGivenBackIsGivenOutAgain) {
    EncoderMemory memory;
    void* first = memory.take(1000);
    std::memset(first, 1, 1000);
    EXPECT_EQ(memory.used_bytes(), 1000u);
    memory.give_back(first);
    EXPECT_EQ(memory.used_bytes(), 0u);
    EXPECT_EQ(memory.bytes(), 1000u);
    void* second = memory.take(1000);
    EXPECT_EQ(second, first);
    memory.give_back(second);
}

TEST(EncoderMemory, ALargeBlockIsNotSpentOnASmallWish) {
    EncoderMemory memory;
    void* large = memory.take(100'000);
    memory.give_back(large);
    void* little = memory.take(100);
    EXPECT_NE(little, large);
    EXPECT_EQ(memory.used_bytes(), 100u);
    memory.give_back(little);
}

TEST(EncoderMemory, KeepsNoMoreThanItsBound) {
    EncoderMemory memory;
    void* blocks[10];
    for (void*& block : blocks) block = memory.take(EncoderMemory::kept_bytes_max / 4);
    for (void* block : blocks) memory.give_back(block);
    EXPECT_EQ(memory.bytes(), EncoderMemory::kept_bytes_max);
}

TEST(EncoderMemory, GivingBackNothingIsNothing) {
    EncoderMemory memory;
    memory.give_back(nullptr);
    EXPECT_EQ(memory.bytes(), 0u);
}

}  // namespace
}  // namespace tiderace::http::coding
