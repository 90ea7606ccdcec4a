#include "tiderace/base/ascii.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tiderace {
namespace {

constexpr std::string_view capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view small = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view digits = "0123456789";

TEST(Ascii, EachClassHasItsCharactersAndNoOthers) {
    const std::string letters = std::string(capitals).append(small);
    const std::string both = letters + std::string(digits);
    const std::string tokens = both + "!#$%&'*+-.^_`|~";
    std::string controls = "\x7f", high;
    for (int byte = 0; byte < 0x20; ++byte) controls += static_cast<char>(byte);
    for (int byte = 0x80; byte < 0x100; ++byte) high += static_cast<char>(byte);
    struct Class {
        bool (*contains)(char);
        std::string characters;
    };
    const Class classes[] = {
        {is_digit, std::string(digits)},
        {is_letter, letters},
        {is_letter_or_digit, both},
        {is_space, " \t\n\v\f\r"},
        {is_ows, " \t"},
        {is_control_character, controls},
        {is_token_character, tokens},
        {is_identifier_character, both + "_" + high},
    };
    for (const Class& one : classes) {
        for (int byte = 0; byte < 0x100; ++byte) {
            const char c = static_cast<char>(byte);
            EXPECT_EQ(one.contains(c), one.characters.find(c) != std::string::npos)
                << byte << " and \"" << one.characters << '"';
        }
    }
}

TEST(Ascii, LettersHaveTwoCasesAndNothingElseHas) {
    for (int byte = 0; byte < 0x100; ++byte) {
        const char c = static_cast<char>(byte);
        const std::size_t capital = capitals.find(c), letter = small.find(c);
        EXPECT_EQ(to_lower(c), capital == capitals.npos ? c : small[capital]) << byte;
        EXPECT_EQ(to_upper(c), letter == small.npos ? c : capitals[letter]) << byte;
    }
    EXPECT_EQ(lower_case("ÄbC-[09]@Z"), "Äbc-[09]@z");
    EXPECT_EQ(lower_case(""), "");
}

TEST(Ascii, BeginningsAndEndsAreComparedWithoutCase) {
    EXPECT_TRUE(starts_with_ignoring_case("HTTP://a", "http://"));
    EXPECT_TRUE(starts_with_ignoring_case("a", ""));
    EXPECT_FALSE(starts_with_ignoring_case("http:/", "http://"));
    EXPECT_FALSE(starts_with_ignoring_case("xhttp://", "http://"));
    EXPECT_TRUE(ends_with_ignoring_case("image/svg+XML", "+xml"));
    EXPECT_TRUE(ends_with_ignoring_case("a", ""));
    EXPECT_FALSE(ends_with_ignoring_case("xml", "+xml"));
    EXPECT_FALSE(ends_with_ignoring_case("+xmlx", "+xml"));
}

TEST(Ascii, HexadecimalDigitsInBothCases) {
    EXPECT_EQ(hex_value('0'), 0);
    EXPECT_EQ(hex_value('9'), 9);
    EXPECT_EQ(hex_value('a'), 10);
    EXPECT_EQ(hex_value('F'), 15);
    for (const char c : std::string_view("gGxX/:@` \r+-\x10\x11\x19\x80")) {
        EXPECT_EQ(hex_value(c), -1) << static_cast<int>(c);
    }
}

TEST(Ascii, TrimsOnlySpacesAndTabs) {
    EXPECT_EQ(trim_ows(" \t a b \t"), "a b");
    EXPECT_EQ(trim_ows("\va\v"), "\va\v");
    EXPECT_EQ(trim_ows(" \t "), "");
    EXPECT_EQ(trim_ows(""), "");
    EXPECT_EQ(trim<is_space>("\r\n\va b\f "), "a b");
}

TEST(Ascii, CaseIsIgnoredForLettersAlone) {
    EXPECT_TRUE(equals_ignoring_case("Keep-Alive", "keep-ALIVE"));
    EXPECT_FALSE(equals_ignoring_case("keep-alive", "keep\ralive"));
    EXPECT_FALSE(equals_ignoring_case("a", "ab"));
    EXPECT_FALSE(equals_ignoring_case("@", "`"));
}

// Each two bytes at each place of words and of what is left behind them.
TEST(Ascii, LettersAloneHaveTwoCases) {
    for (const std::size_t size : {1U, 3U, 4U, 5U, 7U, 8U, 9U, 15U, 16U, 17U, 24U}) {
        for (std::size_t at = 0; at < size; ++at) {
            std::string a(size, 'k'), b(size, 'K');
            std::size_t wrong = 0;
            for (int one = 0; one < 256; ++one) {
                for (int other = 0; other < 256; ++other) {
                    a[at] = static_cast<char>(one);
                    b[at] = static_cast<char>(other);
                    const bool same = to_lower(a[at]) == to_lower(b[at]);
                    if (equals_ignoring_case(a, b) != same) ++wrong;
                }
            }
            EXPECT_EQ(wrong, 0U) << size << " bytes, at " << at;
        }
    }
}

}  // namespace
}  // namespace tiderace
