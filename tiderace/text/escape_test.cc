#include "tiderace/text/escape.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tiderace/text/type_of.h"

namespace tiderace::text {
namespace {

std::string escaped(Escape how, std::string_view text) {
    std::string out;
    append_escaped(out, how, text);
    return out;
}

// Every byte is tried: one that may end its place is never written as it is.
TEST(Escape, LeavesNoByteThatEndsItsPlace) {
    struct Place {
        Escape how;
        std::string_view never;
    };
    for (const auto& [how, never] : {
             Place{Escape::html, std::string_view("<>\"'`\0", 6)},
             Place{Escape::url, std::string_view("<>\"' \\`\n\t\0", 10)},
             Place{Escape::url_part, std::string_view("<>\"'&;:/?#%() \\`\n\t\0", 17)},
             Place{Escape::js_string, std::string_view("<>\"'`&/\n\r\0", 10)},
         }) {
        for (int byte = 0; byte < 256; ++byte) {
            const std::string out = escaped(how, std::string(1, static_cast<char>(byte)));
            if (out.size() == 1 || never.find('%') == never.npos) {
                EXPECT_EQ(out.find_first_of(never), out.npos) << byte;
            }
        }
    }
    EXPECT_EQ(escaped(Escape::js_string, "\\"), "\\u005C");
    EXPECT_EQ(escaped(Escape::js_string, "a\xE2\x80\xA9 \xE2\x82\xAC"), "a\\u2029 \xE2\x82\xAC");
    EXPECT_EQ(escaped(Escape::js_string, "\xE2"), "\xE2");
    EXPECT_EQ(escaped(Escape::none, "<"), "<");
}

TEST(Escape, SaysWhichTextsStayAsTheyAre) {
    for (const Escape how :
         {Escape::none, Escape::html, Escape::url, Escape::url_part, Escape::js_string}) {
        EXPECT_TRUE(stays_as_it_is(how, ""));
        for (int byte = 0; byte < 256; ++byte) {
            for (const std::size_t size : {1, 2, 7, 8, 15, 16, 17, 31, 32, 33}) {
                for (std::size_t at = 0; at < size; ++at) {
                    std::string text(size, 'z');  // no digit behind a %
                    text[at] = static_cast<char>(byte);
                    // It may begin a line end of JavaScript, so append_escaped() decides.
                    const bool is_doubtful = how == Escape::js_string && byte == 0xE2;
                    ASSERT_EQ(stays_as_it_is(how, text), escaped(how, text) == text && !is_doubtful)
                        << byte << " at " << at << " of " << size;
                }
            }
        }
    }
    EXPECT_TRUE(stays_as_it_is(Escape::url, "https://a.example/b?c=d"));
    EXPECT_FALSE(stays_as_it_is(Escape::url, "javascript:alert(1)"));
}

// Texts are searched in blocks, so each byte is tried at each place of texts of about that size.
TEST(Escape, FindsEachByteAtEachPlace) {
    for (const Escape how : {Escape::html, Escape::url, Escape::url_part, Escape::js_string}) {
        const std::string begin = escaped(how, "/");
        for (int byte = 0; byte < 256; ++byte) {
            const std::string one(1, static_cast<char>(byte));
            const std::string alone = escaped(how, "/" + one + "x").substr(begin.size());
            for (const std::size_t size : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 31, 32, 33}) {
                for (std::size_t at = 0; at < size; ++at) {
                    const std::string before(at, 'a');
                    const std::string after(size - at - 1, 'z');
                    ASSERT_EQ(escaped(how, "/" + before + one + "x" + after),
                              begin + before + alone + after)
                        << byte << " at " << at << " of " << size;
                }
            }
        }
    }
}

// The renderer writes integers without a look.
TEST(Escape, LeavesIntegersAsTheyAre) {
    for (const Escape how :
         {Escape::none, Escape::html, Escape::url, Escape::url_part, Escape::js_string}) {
        for (const std::string_view integer : {"0", "-1", "-9223372036854775808", "1234567890"}) {
            EXPECT_EQ(escaped(how, integer), integer);
        }
    }
}

TEST(Escape, WritesMarksThatStandTogether) {
    EXPECT_EQ(escaped(Escape::html, "<<a>>&\"aaaaaaaaaaaaaaaaa''"),
              "&lt;&lt;a&gt;&gt;&amp;&#34;aaaaaaaaaaaaaaaaa&#39;&#39;");
    EXPECT_EQ(escaped(Escape::html, ""), "");
}

TEST(Escape, LetsNoSchemeThroughButThree) {
    for (const std::string_view url :
         {"http://a", "HTTPS://a", "mailto:a", "a", "/a:b", "?a:b", "#a:b", "//a", ""}) {
        EXPECT_EQ(escaped(Escape::url, url), url);
    }
    for (const std::string_view url :
         {"javascript:a", "x:", ":", "httpx:", "http :", "java\tscript:", "\x0bjavascript:",
          "data:,", "blob:a", "mailto\n:a"}) {
        EXPECT_EQ(escaped(Escape::url, url), blocked_url) << url;
    }
    EXPECT_EQ(escaped(Escape::url, " \nhttps://a"), "https://a");
    EXPECT_EQ(escaped(Escape::url, "%zz%4"), "%25zz%254");
}

struct Leaf {
    std::string text;
    std::optional<int> number;
};

std::string js(const auto& value, std::size_t bytes_max = 1000) {
    std::string out;
    return append_js_value(out, ref_to(value), bytes_max) ? out : "none";
}

TEST(Escape, WritesJavaScriptValues) {
    EXPECT_EQ(js(std::vector<Leaf>{{"a", 1}, {"</script>", std::nullopt}}),
              R"([{"text":"a","number":1},{"text":"\u003C\u002Fscript\u003E","number":null}])");
    EXPECT_EQ(js(std::map<std::string, double>{{"\"", 1.5}}), R"({"\u0022":1.5})");
    EXPECT_EQ(js(std::numeric_limits<double>::infinity()), "null");
    EXPECT_EQ(js(std::numeric_limits<double>::quiet_NaN()), "null");
    EXPECT_EQ(js(-1), " -1");
    EXPECT_EQ(js(true), "true");
    EXPECT_EQ(js(std::vector<int>(10, 1), 10), "none");
    // No limit, behind what is there.
    std::string out = "x";
    EXPECT_TRUE(append_js_value(out, ref_to(std::vector<int>{1}), SIZE_MAX));
    EXPECT_EQ(out, "x[1]");
}

}  // namespace
}  // namespace tiderace::text
