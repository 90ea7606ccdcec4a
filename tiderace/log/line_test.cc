#include "tiderace/log/line.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tiderace::log {
namespace {

using Escape = Line& (Line::*)(ByteView);

std::string escaped(Escape escape, ByteView bytes, std::size_t room_bytes = 4096) {
    std::string room(room_bytes, '#');
    Line line(room);
    (line.*escape)(bytes);
    return room.substr(0, line.size());
}

TEST(Line, TextEscapesWhatCouldBreakALineOrATerminal) {
    struct Case {
        ByteView in;
        std::string_view out;
    };
    const Case cases[] = {
        {"", ""},
        {"GET /index.html", "GET /index.html"},
        {"a\nb", "a\\nb"},
        {"a\r\nfake line", "a\\r\\nfake line"},
        {"tab\there", "tab\\there"},
        {"\x1b[31mred", "\\x1b[31mred"},
        {"\x07\x08\x7f", "\\x07\\x08\\x7f"},
        {ByteView("\0", 1), "\\x00"},
        {"\xc2\x9b", "\\xc2\\x9b"},  // U+009B, a C1 control: CSI
        {"\x9b", "\\x9b"},           // the same for an 8-bit terminal
        {"caf\xc3\xa9", "caf\\xc3\\xa9"},
        {"say \"hi\" \\o/", "say \\\"hi\\\" \\\\o/"},
    };
    for (const Case& c : cases) EXPECT_EQ(escaped(&Line::text, c.in), c.out);
}

TEST(Line, JsonIsAsciiAndKeepsUnicode) {
    struct Case {
        ByteView in;
        std::string_view out;
    };
    const Case cases[] = {
        {"plain", "plain"},
        {"\"\\\n\r\t", "\\\"\\\\\\n\\r\\t"},
        {"\x1b\x7f", "\\u001b\\u007f"},
        {ByteView("\0", 1), "\\u0000"},
        {"caf\xc3\xa9", "caf\\u00e9"},
        {"\xc2\x9b", "\\u009b"},
        {"\xe2\x82\xac", "\\u20ac"},
        {"\xf0\x9f\x8c\x8a", "\\ud83c\\udf0a"},
        {"\xf4\x8f\xbf\xbf", "\\udbff\\udfff"},
        {"\x9b", "\\ufffd"},                                   // a lone continuation
        {"\xc3", "\\ufffd"},                                   // cut short
        {"\xc3(", "\\ufffd("},                                 // not continued
        {"\xc0\xaf", "\\ufffd\\ufffd"},                        // overlong '/'
        {"\xe0\x80\xaf", "\\ufffd\\ufffd\\ufffd"},             // overlong in three
        {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},             // a surrogate
        {"\xf0\x80\x80\xaf", "\\ufffd\\ufffd\\ufffd\\ufffd"},  // overlong in four
        {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"},  // above U+10FFFF
        {"\xff", "\\ufffd"},
    };
    for (const Case& c : cases) EXPECT_EQ(escaped(&Line::json, c.in), c.out);
}

TEST(Line, EveryByteAtEveryPlaceOfAWordComesOutPrintable) {
    for (const Escape escape : {&Line::text, &Line::json}) {
        for (int value = 0; value < 256; ++value) {
            for (std::size_t place = 0; place < 20; ++place) {
                std::string in(20, 'x');
                in[place] = static_cast<char>(value);
                const bool plain = value >= 0x20 && value < 0x7f && value != '"' && value != '\\';
                const std::string out = escaped(escape, in);
                EXPECT_EQ(out == in, plain) << value << " at " << place;
                EXPECT_EQ(out.substr(0, place), in.substr(0, place));
                EXPECT_EQ(out.substr(out.size() - (19 - place)), in.substr(place + 1));
                for (const char c : out) ASSERT_TRUE(c >= 0x20 && c < 0x7f) << value;
            }
        }
    }
}

TEST(Line, LeavesOutWhatDoesNotFitByWholeEscapes) {
    const ByteView in = "ab\n\x1b\xf0\x9f\x8c\x8ay";
    for (const Escape escape : {&Line::text, &Line::json}) {
        const std::string whole = escaped(escape, in);
        for (std::size_t room_bytes = 0; room_bytes <= whole.size(); ++room_bytes) {
            std::string room(room_bytes + 4, '#');
            Line line(std::span<char>(room).first(room_bytes));
            (line.*escape)(in);
            EXPECT_EQ(line.full(), room_bytes < whole.size());
            EXPECT_EQ(room.substr(room_bytes), "####");
            const std::string out = room.substr(0, line.size());
            ASSERT_EQ(out, whole.substr(0, out.size()));
            const std::string rest = whole.substr(out.size());
            EXPECT_TRUE(rest.empty() || rest[0] == '\\' || out.size() < 2 || rest == "y") << rest;
            EXPECT_FALSE(rest.starts_with("\\udf0a")) << "half a surrogate pair";
        }
    }
}

TEST(Line, OnceFullStaysFullUntilRewound) {
    std::array<char, 8> room{};
    Line line(room);
    line.raw("123456").raw("789").raw('x').number(1).number(0.5).text("y").json("z");
    EXPECT_TRUE(line.full());
    EXPECT_EQ(line.size(), 6U);
    line.rewind(2);
    EXPECT_FALSE(line.full());
    line.raw('x').number(-45);
    EXPECT_EQ(std::string(room.data(), line.size()), "12x-45");
}

TEST(Line, WritesNumbersExactly) {
    std::array<char, 100> room{};
    Line line(room);
    line.number(INT64_MIN).raw(' ').number(UINT64_MAX).raw(' ').number(0.1).raw(' ').number(1e300);
    EXPECT_EQ(std::string(room.data(), line.size()),
              "-9223372036854775808 18446744073709551615 0.1 1e+300");
}

}  // namespace
}  // namespace tiderace::log
