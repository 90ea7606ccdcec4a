#include "tiderace/http/wire/text/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiderace::http::wire {
namespace {

std::string encode(char32_t code) {
    std::string text;
    auto add = [&](char32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) {
        add(code);
    } else if (code < 0x800) {
        add(0xC0 | code >> 6);
        add(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        add(0xE0 | code >> 12);
        add(0x80 | (code >> 6 & 0x3F));
        add(0x80 | (code & 0x3F));
    } else {
        add(0xF0 | code >> 18);
        add(0x80 | (code >> 12 & 0x3F));
        add(0x80 | (code >> 6 & 0x3F));
        add(0x80 | (code & 0x3F));
    }
    return text;
}

TEST(Utf8, ReadsEveryCharacterOfUnicode) {
    for (char32_t code = 0; code <= 0x10FFFF; ++code) {
        if (code >= 0xD800 && code <= 0xDFFF) continue;
        const std::string text = encode(code);
        const Utf8Char read = first_utf8_char(text);
        ASSERT_TRUE(read.valid) << std::uint32_t(code);
        ASSERT_EQ(read.code, code);
        ASSERT_EQ(read.size, text.size());
    }
}

TEST(Utf8, RefusesSurrogatesAndWhatIsAboveUnicode) {
    for (const char32_t code : {0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0x110000, 0x1FFFFF}) {
        EXPECT_FALSE(first_utf8_char(encode(code)).valid) << std::uint32_t(code);
    }
}

TEST(Utf8, RefusesWithoutSwallowingWhatFollows) {
    struct Case {
        ByteView text;
        std::size_t size;
    };
    const Case cases[] = {
        {"\x80", 1},           {"\xBF", 1},         {"\xC0\xAF", 1},     {"\xC1\xBF", 1},
        {"\xC3", 1},           {"\xC3<", 1},        {"\xE0\x80\xAF", 1}, {"\xE2\x82", 2},
        {"\xE2\x82<", 2},      {"\xE2<", 1},        {"\xF0\x80\x80", 1}, {"\xF0\x9F\x8C", 3},
        {"\xF0\x9F\x8C\"", 3}, {"\xF5\x80\x80", 1}, {"\xFE", 1},         {"\xFF\xFF", 1},
    };
    for (const Case& c : cases) {
        const std::vector<char> exact(c.text.begin(), c.text.end());  // asan sees one past
        const Utf8Char read = first_utf8_char(ByteView(exact.data(), exact.size()));
        EXPECT_FALSE(read.valid) << c.text;
        EXPECT_EQ(read.size, c.size) << c.text;
        EXPECT_EQ(read.code, 0xFFFDu);
    }
}

}  // namespace
}  // namespace tiderace::http::wire
