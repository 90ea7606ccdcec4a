#include "tiderace/http/wire/text/append_escaped.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tiderace::http::wire {
namespace {

// Small letters are plain; of another character stands how many bytes it took, or '?'.
bool append(BoundedText& out, ByteView text) {
    return append_escaped(
        out, text, [](char c) { return c >= 'a' && c <= 'z'; },
        [](BoundedText& to, ByteView bytes, const Utf8Char& read) {
            return read.valid ? to.append_number(bytes.size()) : to.append('?');
        });
}

TEST(AppendEscaped, BrokenBytesDoNotSwallowTheirNeighbours) {
    std::array<char, 64> memory;
    BoundedText out(memory);
    EXPECT_TRUE(append(out,
                       "ab\xC3\xA9"
                       "cd\xF0\x9F\x8C\x8A\xC3"
                       "ef\xE2\x82"
                       "gh\xFF"));
    EXPECT_EQ(out.view(), "ab2cd4?ef?gh?");
}

TEST(AppendEscaped, WhatDoesNotFitLeavesNothing) {
    std::array<char, 4> memory;
    BoundedText out(memory);
    EXPECT_TRUE(append(out, "ab"));
    EXPECT_FALSE(append(out, "cde"));  // no room for a plain one
    EXPECT_FALSE(append(out, "cdE"));  // no room for an escaped one
    EXPECT_EQ(out.view(), "ab");
    EXPECT_TRUE(append(out, "cE"));
    EXPECT_EQ(out.view(), "abc1");
    EXPECT_TRUE(append(out, ""));
}

}  // namespace
}  // namespace tiderace::http::wire
