#include "lab/report/markup.h"

#include <gtest/gtest.h>

namespace tiderace::lab::report {
namespace {

TEST(Markup, NothingOfATextIsMarkup) {
    EXPECT_EQ(escape_markup("<a href=\"x\">'&"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
    EXPECT_EQ(escape_markup(std::string_view("a\0b\x1b", 4)), "a\uFFFDb\uFFFD");
    EXPECT_EQ(escape_markup("潮 ×"), "潮 ×");
    EXPECT_EQ(escape_markdown("a|b `c` *d* [e](f) <g> _h_ \\"),
              "a\\|b \\`c\\` \\*d\\* \\[e\\](f) &lt;g\\> \\_h\\_ \\\\");
    EXPECT_EQ(escape_markdown("one\ntwo\r\nthree"), "one two  three");
}

}  // namespace
}  // namespace tiderace::lab::report
