#include "tiderace/base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiderace {
namespace {

TEST(WholeCharacters, AreTheBeginningThatFits) {
    EXPECT_EQ(whole_characters("", 0), "");
    EXPECT_EQ(whole_characters("ab", 2), "ab");
    EXPECT_EQ(whole_characters("abc", 2), "ab");
    EXPECT_EQ(whole_characters("a€b", 5), "a€b");
    EXPECT_EQ(whole_characters("a€b", 4), "a€");
    EXPECT_EQ(whole_characters("a€b", 3), "a");
    EXPECT_EQ(whole_characters("a€b", 1), "a");
    EXPECT_EQ(whole_characters("\x80\x80\x80", 2), "") << "no character begins there";
}

TEST(WholeCharacters, AreCounted) {
    EXPECT_EQ(count_characters(""), 0U);
    EXPECT_EQ(count_characters("a€🌊é"), 4U);
}

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

TEST(Utf8, IsCheckedWhereverItStands) {
    for (const auto text : {"", "plain", "é", "世界", "🌊", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"}) {
        EXPECT_TRUE(is_utf8(text)) << text;
    }
    for (const auto text :
         {"\x80", "\xC0\xAF", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE4\xB8", "a\xC3(", "\xF0\x9F\x8C"}) {
        EXPECT_FALSE(is_utf8(text)) << text;
        // Wherever it stands in the steps of eight bytes.
        for (std::size_t before = 0; before < 20; ++before) {
            const std::string longer = std::string(before, 'a') + text + std::string(before, 'z');
            EXPECT_FALSE(is_utf8(longer)) << longer;
        }
    }
    for (std::size_t before = 0; before < 20; ++before) {
        EXPECT_TRUE(is_utf8(std::string(before, 'a') + "é世🌊" + std::string(before, 'z')));
    }
}

// The slow reader of one character at a time, as an oracle.
bool is_utf8_by_characters(ByteView bytes) {
    while (!bytes.empty()) {
        const Utf8Char read = first_utf8_char(bytes);
        if (!read.valid) return false;
        bytes.remove_prefix(read.size);
    }
    return true;
}

bool valid_in_two(ByteView bytes, std::size_t cut) {
    Utf8Validator validator;
    return validator.take(bytes.substr(0, cut)) && validator.take(bytes.substr(cut)) &&
           validator.complete();
}

TEST(Utf8Validator, AgreesWithTheSlowReaderOnEverySequenceOfThreeBytes) {
    for (unsigned a = 0; a < 256; ++a) {
        for (unsigned b = 0; b < 256; ++b) {
            for (const unsigned c : {0x00u, 0x41u, 0x7fu, 0x80u, 0x8fu, 0x90u, 0x9fu, 0xa0u, 0xbfu,
                                     0xc0u, 0xc2u, 0xe0u, 0xedu, 0xf0u, 0xf4u, 0xffu}) {
                const std::string bytes{static_cast<char>(a), static_cast<char>(b),
                                        static_cast<char>(c)};
                ASSERT_EQ(is_utf8(bytes), is_utf8_by_characters(bytes))
                    << a << ' ' << b << ' ' << c;
            }
        }
    }
}

TEST(Utf8Validator, AgreesOnEveryLeadOfFourByteCharacters) {
    for (unsigned a = 0xee; a < 0x100; ++a) {
        for (unsigned b = 0x70; b < 0xd0; ++b) {
            const std::string bytes{static_cast<char>(a), static_cast<char>(b), '\x80', '\xbf'};
            ASSERT_EQ(is_utf8(bytes), is_utf8_by_characters(bytes)) << a << ' ' << b;
        }
    }
}

TEST(Utf8Validator, GivesOneVerdictAtEverySplit) {
    const std::vector<std::string> texts = {
        "plain words that are longer than one block of sixteen bytes",
        "κόσμε and then some words, ελληνικά, 日本語, \xF0\x9F\x8C\x8A at the end",
        "words of sixteen and then a bad one \xED\xA0\x80 and more words",
        "cut off at its end: \xF0\x9F\x8C",
        "\xC0\x80",
        "\xF4\x90\x80\x80",
    };
    for (const std::string& text : texts) {
        for (std::size_t cut = 0; cut <= text.size(); ++cut) {
            EXPECT_EQ(valid_in_two(text, cut), is_utf8_by_characters(text))
                << text << " at " << cut;
        }
    }
}

TEST(Utf8Validator, RefusesAtTheFirstByteThatCannotBe) {
    Utf8Validator validator;
    EXPECT_TRUE(validator.take("\xCE\xBA\xE1\xBD\xB9"));
    EXPECT_TRUE(validator.take("\xF4"));
    EXPECT_FALSE(validator.complete());
    EXPECT_FALSE(validator.take("\x90"));  // above U+10FFFF whatever follows
}

}  // namespace
}  // namespace tiderace
