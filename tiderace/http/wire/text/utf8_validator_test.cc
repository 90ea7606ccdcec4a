#include "tiderace/http/wire/text/utf8_validator.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/http/wire/text/utf8.h"

namespace tiderace::http::wire {
namespace {

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
}  // namespace tiderace::http::wire
