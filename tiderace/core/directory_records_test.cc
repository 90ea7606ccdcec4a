#include "tiderace/core/directory_records.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace tiderace::core {
namespace {

TEST(DirectoryRecords, StandOneAfterTheOther) {
    alignas(8) std::array<char, 256> buffer;
    DirectoryRecords records(buffer.data(), buffer.size());
    const std::vector<std::string> names{"a", "a-name-of-19-bytes-", "b"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        EXPECT_TRUE(records.append(names[i], static_cast<std::uint8_t>(i)));
    }
    std::size_t at = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
        DirectoryRecordHead head;
        std::memcpy(&head, buffer.data() + at, directory_name_offset);
        EXPECT_EQ(head.record_bytes % 8, 0);
        EXPECT_EQ(head.type, i);
        EXPECT_EQ(std::string(buffer.data() + at + directory_name_offset), names[i]);
        at += head.record_bytes;
    }
    EXPECT_EQ(at, records.bytes());
}

TEST(DirectoryRecords, WhatHasNoRoomIsLeftOut) {
    alignas(8) std::array<char, 48> buffer;
    DirectoryRecords records(buffer.data(), buffer.size());
    EXPECT_TRUE(records.append("1234", 0));
    EXPECT_FALSE(records.append("12345", 0));
    EXPECT_TRUE(records.append("1234", 0));
    EXPECT_FALSE(records.append("", 0));
    EXPECT_EQ(records.bytes(), 48U);
}

}  // namespace
}  // namespace tiderace::core
