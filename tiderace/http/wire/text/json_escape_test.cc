#include "tiderace/http/wire/text/json_escape.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/base/random.h"
#include "tiderace/base/utf8.h"

namespace tiderace::http::wire {
namespace {

std::string inside(ByteView text) {
    std::array<char, 2048> memory;
    BoundedText out(memory);
    EXPECT_TRUE(append_json(out, text));
    return std::string(out.view());
}

TEST(JsonEscape, LeavesPlainTextAlone) {
    EXPECT_EQ(inside(""), "");
    EXPECT_EQ(inside("a/b 'c' &d;"), "a/b 'c' &d;");
    EXPECT_EQ(inside("caf\xC3\xA9 \xF0\x9F\x8C\x8A"), "caf\xC3\xA9 \xF0\x9F\x8C\x8A");
}

TEST(JsonEscape, EscapesQuotesBackslashesAndControls) {
    EXPECT_EQ(inside("\"\\"), "\\\"\\\\");
    EXPECT_EQ(inside("\b\f\n\r\t"), "\\b\\f\\n\\r\\t");
    EXPECT_EQ(inside(ByteView("\0\x1b\x1f", 3)), "\\u0000\\u001b\\u001f");
    EXPECT_EQ(inside("\x7F"), "\x7F");
    EXPECT_EQ(inside("\",\"admin\":\"yes"), "\\\",\\\"admin\\\":\\\"yes");
}

TEST(JsonEscape, EscapesWhatCouldEndAScriptOrBeginAnElement) {
    EXPECT_EQ(inside("</script><b>"), "\\u003c/script\\u003e\\u003cb\\u003e");
}

TEST(JsonEscape, EscapesTheLineEndsOfJavaScript) {
    EXPECT_EQ(inside("\xE2\x80\xA8\xE2\x80\xA9"), "\\u2028\\u2029");
}

TEST(JsonEscape, ReplacesBytesThatAreNotUtf8) {
    EXPECT_EQ(inside("a\xFF\""), "a\xEF\xBF\xBD\\\"");
    EXPECT_EQ(inside("\xE2\""), "\xEF\xBF\xBD\\\"");
    EXPECT_EQ(inside("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(JsonEscape, AppendsNothingWhenItDoesNotFit) {
    std::array<char, 8> memory;
    BoundedText out(memory);
    out.append("x");
    EXPECT_FALSE(append_json(out, "ab\x01"));
    EXPECT_EQ(out.view(), "x");
    EXPECT_TRUE(append_json(out, "a\x01"));
    EXPECT_EQ(out.view(), "xa\\u0001");
}

TEST(JsonEscape, WhateverTheBytesTheResultStaysInsideItsQuotes) {
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        Random random(seed);
        std::string text(random.below(40), '\0');
        for (char& c : text) c = static_cast<char>(random.below(256));
        const std::string json = inside(text);
        ASSERT_LE(json.size(), text.size() * json_growth_max);
        for (ByteView rest = json; !rest.empty();) {
            const Utf8Char read = first_utf8_char(rest);
            ASSERT_TRUE(read.valid && read.code >= 0x20 && read.code != '"') << "seed " << seed;
            // An escape takes its second character with it, so that a quote left over is a bare
            // one.
            rest.remove_prefix(read.code == '\\' ? 2 : read.size);
        }
    }
}

}  // namespace
}  // namespace tiderace::http::wire
