#include "tiderace/http/listing/readme.h"

#include <gtest/gtest.h>

namespace tiderace::http::listing {
namespace {

TEST(Readme, PlainTextIsShownAsItIs) {
    EXPECT_EQ(readme_html("README.txt", "a <b>\n  # c"),
              "<pre class=\"plain\">a &lt;b&gt;\n  # c</pre>\n");
}

TEST(Readme, MarkdownBecomesItsElements) {
    struct Case {
        const char* text;
        const char* html;
    };
    const Case cases[] = {
        {"# Title", "<h2>Title</h2>\n"},
        {"###### Deep", "<h6>Deep</h6>\n"},
        {"#hash", "<p>#hash</p>\n"},
        {"one\ntwo\n\nthree", "<p>one two</p>\n<p>three</p>\n"},
        {"- a\n- b\n  more", "<ul>\n<li>a</li>\n<li>b more</li>\n</ul>\n"},
        {"1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n"},
        {"999. a", "<ol>\n<li>a</li>\n</ol>\n"},
        {"1000. a", "<p>1000. a</p>\n"},
        {"```sh\na < b\n```\nafter",
         "<pre tabindex=\"0\"><code>a &lt; b\n</code></pre>\n<p>after</p>\n"},
        {"> said", "<blockquote>said</blockquote>\n"},
        {"a\n\n---\n", "<p>a</p>\n<hr>\n"},
        {"use `x<y` **now** or *later*",
         "<p>use <code>x&lt;y</code> <strong>now</strong> or <em>later</em></p>\n"},
        {"2 * 3 * 4", "<p>2 * 3 * 4</p>\n"},
        {"see [docs](docs/a.html)",
         "<p>see <a rel=\"nofollow noopener\" href=\"docs/a.html\">docs</a></p>\n"},
        {"a\r\nb\r\n", "<p>a b</p>\n"},
        {"", ""},
    };
    for (const Case& c : cases) EXPECT_EQ(readme_html("README.md", c.text), c.html) << c.text;
}

TEST(Readme, NothingInItRunsOrBreaksOut) {
    const char* hostile[] = {
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "[x](JAVASCRIPT:alert(1))",
        "[x](data:text/html,<script>)",
        "[x](vbscript:x)",
        "[x](\" onclick=alert(1) y=\")",
        "[<img src=x onerror=alert(1)>](a)",
        "`<b>` **<b>** *<b>* # <b>",
        "```\n</code></pre><script>",
        "![x](javascript:alert(1))",
    };
    for (const char* text : hostile) {
        const std::string html = readme_html("README.md", text);
        EXPECT_EQ(html.find("<script"), std::string::npos) << html;
        EXPECT_EQ(html.find("<img"), std::string::npos) << html;
        EXPECT_EQ(html.find("<b>"), std::string::npos) << html;
        EXPECT_EQ(html.find("\" onclick"), std::string::npos) << html;
        for (const char* scheme :
             {"href=\"javascript", "href=\"JAVASCRIPT", "href=\"data", "href=\"vb"}) {
            EXPECT_EQ(html.find(scheme), std::string::npos) << html;
        }
    }
}

TEST(Readme, OpeningsWithoutEndsCostNoMoreThanTheirLength) {
    for (const char* opening : {"[", "*", "`", "**", "![", "[a]("}) {
        std::string text = "x";
        while (text.size() < 60'000) text += opening;
        EXPECT_GE(readme_html("README.md", text).size(), text.size() / 4);
    }
}

}  // namespace
}  // namespace tiderace::http::listing
