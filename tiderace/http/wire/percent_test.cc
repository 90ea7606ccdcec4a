#include "tiderace/http/wire/percent.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::wire {
namespace {

std::string link(ByteView segment) {
    std::array<char, 1024> memory;
    BoundedText text(memory);
    EXPECT_TRUE(append_path_segment(text, segment));
    return std::string(text.view());
}

TEST(Percent, DecodesAnEscapeInEitherCase) {
    EXPECT_EQ(decode_escape("%2F"), 0x2F);
    EXPECT_EQ(decode_escape("%2f"), 0x2F);
    EXPECT_EQ(decode_escape("%fF and more"), 0xFF);
    EXPECT_EQ(decode_escape("%00"), 0);
}

TEST(Percent, RefusesWhatIsNotAnEscape) {
    for (const ByteView text : {"", "%", "%2", "%2g", "%g2", "%%2", "% 2", "%+2", "2F", "%-1"}) {
        EXPECT_EQ(decode_escape(text), std::nullopt) << text;
    }
}

TEST(Percent, LinksToNamesThatNeedNoEscapeAsTheyAre) {
    EXPECT_EQ(link("index.html"), "index.html");
    EXPECT_EQ(link("a-b_c~d(1).txt"), "a-b_c~d(1).txt");
    EXPECT_EQ(link(""), "");
}

TEST(Percent, EscapesWhatWouldEndOrChangeALink) {
    EXPECT_EQ(link("a b"), "a%20b");
    EXPECT_EQ(link("a/b?c#d"), "a%2Fb%3Fc%23d");
    EXPECT_EQ(link("100%"), "100%25");
    EXPECT_EQ(link("\"'<&>"), "%22%27%3C%26%3E");
    EXPECT_EQ(link("caf\xC3\xA9"), "caf%C3%A9");
    EXPECT_EQ(link(ByteView("\0\r\n\\", 4)), "%00%0D%0A%5C");
}

TEST(Percent, KeepsTheSlashesOfAWholePath) {
    std::array<char, 64> memory;
    BoundedText text(memory);
    EXPECT_TRUE(append_path(text, "/a b/c%/"));
    EXPECT_EQ(text.view(), "/a%20b/c%25/");
}

TEST(Percent, EveryByteDecodesToItself) {
    for (int c = 0; c < 256; ++c) {
        const char byte = static_cast<char>(c);
        const std::string text = link(ByteView(&byte, 1));
        if (text.size() == 1) {
            EXPECT_EQ(text[0], byte);
        } else {
            EXPECT_EQ(decode_escape(text), c);
        }
    }
}

TEST(Percent, AppendsNothingWhenTheSegmentDoesNotFit) {
    std::array<char, 6> memory;
    BoundedText text(memory);
    text.append("x");
    EXPECT_FALSE(append_path_segment(text, "ab c"));
    EXPECT_EQ(text.view(), "x");
    EXPECT_TRUE(append_path_segment(text, "ab "));
    EXPECT_EQ(text.view(), "xab%20");
}

TEST(Percent, AReferenceKeepsWhatItMayHold) {
    const auto reference = [](ByteView text) {
        std::array<char, 1024> memory;
        BoundedText out(memory);
        EXPECT_TRUE(append_uri_reference(out, text));
        EXPECT_LE(out.size(), uri_growth_max * text.size());
        return std::string(out.view());
    };
    for (const ByteView text : {"", "/a/b;c=1?x=1&y='2'#part/?",
                                "https://user@[::1]:80/~a!$()*,-._+", "//host", "b%2F%c3"}) {
        EXPECT_EQ(reference(text), text);
    }
    EXPECT_EQ(reference("/a b"), "/a%20b");
    EXPECT_EQ(reference("/a\r\nSet-Cookie: x"), "/a%0D%0ASet-Cookie:%20x");
    EXPECT_EQ(reference("/caf\xC3\xA9\"<>\\^`{|}"), "/caf%C3%A9%22%3C%3E%5C%5E%60%7B%7C%7D");
    EXPECT_EQ(reference("100%/%2g/%"), "100%25/%252g/%25");
    EXPECT_EQ(reference("#a#b"), "#a%23b");
    EXPECT_EQ(reference(ByteView("\0\t\x7F", 3)), "%00%09%7F");
    std::array<char, 3> little;
    BoundedText out(little);
    EXPECT_FALSE(append_uri_reference(out, "a b"));
    EXPECT_EQ(out.size(), 0U);
}

}  // namespace
}  // namespace tiderace::http::wire
