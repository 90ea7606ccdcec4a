#include "tiderace/http/wire/text/html_escape.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/base/random.h"
#include "tiderace/base/utf8.h"

namespace tiderace::http::wire {
namespace {

std::string shown(ByteView text) {
    std::array<char, 2048> memory;
    BoundedText out(memory);
    EXPECT_TRUE(append_html(out, text));
    return std::string(out.view());
}

TEST(HtmlEscape, LeavesPlainTextAlone) {
    EXPECT_EQ(shown(""), "");
    EXPECT_EQ(shown("holiday photos (2026).zip"), "holiday photos (2026).zip");
    EXPECT_EQ(shown("caf\xC3\xA9 \xF0\x9F\x8C\x8A"), "caf\xC3\xA9 \xF0\x9F\x8C\x8A");
}

TEST(HtmlEscape, EscapesWhatMeansSomethingToHtml) {
    EXPECT_EQ(shown("<b>&\"'"), "&lt;b&gt;&amp;&quot;&#39;");
    EXPECT_EQ(shown("&amp;"), "&amp;amp;");
    EXPECT_EQ(shown("\"><script>alert(1)</script>"),
              "&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
}

TEST(HtmlEscape, GrowsFiftyAnglesByNoMoreThanItPromises) {
    const std::string name(50, '<');
    EXPECT_EQ(shown(name).size(), 50 * 4);
    EXPECT_EQ(shown(std::string(50, '"')).size(), 50 * html_growth_max);
}

TEST(HtmlEscape, ShowsPicturesOfControls) {
    EXPECT_EQ(shown("a\r\nb"),
              "a\xE2\x90\x8D\xE2\x90\x8A"
              "b");
    EXPECT_EQ(shown(ByteView("\0", 1)), "\xE2\x90\x80");
    EXPECT_EQ(shown("\x1F\x7F"), "\xE2\x90\x9F\xE2\x90\xA1");
    EXPECT_EQ(shown("\xC2\x85"), utf8_replacement);
}

TEST(HtmlEscape, TakesTheForceFromCharactersThatTurnText) {
    EXPECT_EQ(shown("exe.\xE2\x80\xAEgpj"), "exe.\xEF\xBF\xBDgpj");
    for (const ByteView turning : {"\xE2\x80\xAA", "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA9",
                                   "\xE2\x80\x8E", "\xE2\x80\x8F", "\xD8\x9C"}) {
        EXPECT_EQ(shown(turning), utf8_replacement);
    }
    EXPECT_EQ(shown("\xE2\x80\xA9\xE2\x80\xAF"), "\xE2\x80\xA9\xE2\x80\xAF");
}

TEST(HtmlEscape, ReplacesBytesThatAreNotUtf8) {
    EXPECT_EQ(shown("a\xFF"
                    "b"),
              "a\xEF\xBF\xBD"
              "b");
    EXPECT_EQ(shown("\xC3<"), "\xEF\xBF\xBD&lt;");
    EXPECT_EQ(shown("\xE2\x80"), utf8_replacement);
}

TEST(HtmlEscape, AppendsNothingWhenItDoesNotFit) {
    std::array<char, 8> memory;
    BoundedText out(memory);
    out.append("x");
    EXPECT_FALSE(append_html(out, "ab<<"));
    EXPECT_EQ(out.view(), "x");
    EXPECT_TRUE(append_html(out, "abc<"));
    EXPECT_EQ(out.view(), "xabc&lt;");
}

TEST(HtmlEscape, WhateverTheBytesTheResultIsHarmlessUtf8) {
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        Random random(seed);
        std::string text(random.below(40), '\0');
        for (char& c : text) c = static_cast<char>(random.below(256));
        const std::string html = shown(text);
        ASSERT_LE(html.size(), text.size() * html_growth_max);
        ASSERT_EQ(html.find_first_of("<>\"'"), std::string::npos) << "seed " << seed;
        for (ByteView rest = html; !rest.empty();) {
            const Utf8Char read = first_utf8_char(rest);
            ASSERT_TRUE(read.valid) << "seed " << seed;
            ASSERT_GE(read.code, 0x20u) << "seed " << seed;
            rest.remove_prefix(read.size);
        }
    }
}

}  // namespace
}  // namespace tiderace::http::wire
