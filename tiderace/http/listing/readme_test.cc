#include "tiderace/http/listing/readme.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tiderace::http::listing {
namespace {

std::string repeated(std::string_view text, std::size_t bytes) {
    std::string out;
    while (out.size() < bytes) out += text;
    return out;
}

TEST(Readme, PlainTextIsShownAsItIs) {
    EXPECT_EQ(readme_html("README.txt", "a <b>\r\n  # c\td"),
              "<pre class=\"plain\">a &lt;b&gt;\n  # c\td</pre>\n");
}

TEST(Readme, TheTextIsBounded) {
    const std::string longer = repeated("<", readme_bytes_max + 1);
    EXPECT_EQ(readme_html("README", longer).size(),
              std::string_view("<pre class=\"plain\"></pre>\n").size() + 4 * readme_bytes_max);
}

TEST(Readme, MarkdownIsPlainTextWithoutMd4c) {
    if (readme_renders_markdown()) GTEST_SKIP() << "this build has md4c";
    EXPECT_EQ(readme_html("README.md", "# <a>"), "<pre class=\"plain\"># &lt;a&gt;</pre>\n");
}

class Markdown : public ::testing::Test {
  public:
    void SetUp() override {
        if (!readme_renders_markdown()) GTEST_SKIP() << "this build has no md4c";
    }
};

TEST_F(Markdown, BecomesItsElements) {
    struct Case {
        const char* text;
        const char* html;
    };
    const Case cases[] = {
        {"# Title", "<h2>Title</h2>\n"},
        {"###### Deep", "<h6>Deep</h6>\n"},
        {"#hash", "<p>#hash</p>\n"},
        {"one\ntwo  \nthree\n\nfour", "<p>one\ntwo<br>\nthree</p>\n<p>four</p>\n"},
        {"- a\n- b\n  more", "<ul><li>a</li>\n<li>b\nmore</li>\n</ul>\n"},
        {"- a\n  - b\n    1. c",
         "<ul><li>a<ul><li>b<ol><li>c</li>\n</ol>\n</li>\n</ul>\n</li>\n</ul>\n"},
        {"7. a\n8. b", "<ol start=\"7\"><li>a</li>\n<li>b</li>\n</ol>\n"},
        {"```sh\na < b\n```\nafter",
         "<pre tabindex=\"0\"><code>a &lt; b\n</code></pre>\n<p>after</p>\n"},
        {"    indented\n", "<pre tabindex=\"0\"><code>indented\n</code></pre>\n"},
        {"> said", "<blockquote><p>said</p>\n</blockquote>\n"},
        {"a\n\n---\n", "<p>a</p>\n<hr>\n"},
        {"|a|b|\n|---|:---|\n|`1`|2|\n",
         "<div tabindex=\"0\"><table><thead><tr><th>a</th>\n<th>b</th>\n</tr>\n</thead>\n"
         "<tbody><tr><td><code>1</code></td>\n<td>2</td>\n</tr>\n</tbody>\n</table></div>\n"},
        {"|a|b|\n|--:|:-:|\n",
         "<div tabindex=\"0\"><table><thead><tr><th class=\"r\">a</th>\n<th class=\"c\">b</th>\n"
         "</tr>\n</thead>\n</table></div>\n"},
        {"\xEF\xBB\xBF# Title", "<h2>Title</h2>\n"},
        {"use `x<y` **now** or *later*",
         "<p>use <code>x&lt;y</code> <strong>now</strong> or <em>later</em></p>\n"},
        {"2 * 3 * 4 \\*", "<p>2 * 3 * 4 *</p>\n"},
        {"a&nbsp;b &lt;i&gt; &#8238;", "<p>a&nbsp;b &lt;i&gt; &amp;#8238;</p>\n"},
        {"", ""},
    };
    for (const Case& c : cases) EXPECT_EQ(readme_html("README.md", c.text), c.html) << c.text;
}

TEST_F(Markdown, LinksAndPicturesAreLinks) {
    struct Case {
        const char* text;
        const char* html;
    };
    const Case cases[] = {
        {"[docs](docs/a.html 'title')",
         "<p><a rel=\"nofollow noopener\" href=\"docs/a.html\">docs</a></p>\n"},
        {"<https://a.b/?c=d&e>",
         "<p><a rel=\"nofollow noopener\" href=\"https://a.b/?c=d&amp;e\">https://a.b/?c=d&amp;e"
         "</a></p>\n"},
        {"[*x*](MAILTO:a@b.c)",
         "<p><a rel=\"nofollow noopener\" href=\"MAILTO:a@b.c\"><em>x</em></a></p>\n"},
        {"[x](/?a=1&amp;b=\"&quot;)",
         "<p><a rel=\"nofollow noopener\" href=\"/?a=1&amp;b=&quot;&amp;quot;\">x</a></p>\n"},
        {"![a picture](p.png)",
         "<p><a rel=\"nofollow noopener\" href=\"p.png\">a picture</a></p>\n"},
        {"[![state](s.svg) now](ci/) [y](z)",
         "<p><a rel=\"nofollow noopener\" href=\"ci/\">state now</a> "
         "<a rel=\"nofollow noopener\" href=\"z\">y</a></p>\n"},
        {"![a [b](c)](d)", "<p><a rel=\"nofollow noopener\" href=\"d\">a b</a></p>\n"},
        {"![a [b](c)](x:d)", "<p>a <a rel=\"nofollow noopener\" href=\"c\">b</a></p>\n"},
        {"[x][r]\n\n[r]: ftp://a.b", "<p>x</p>\n"},
    };
    for (const Case& c : cases) EXPECT_EQ(readme_html("README.md", c.text), c.html) << c.text;
}

TEST_F(Markdown, NothingInItRunsOrBreaksOut) {
    const char* hostile[] = {
        "<script>alert(1)</script>",
        "a <script>alert(1)</script>",
        "<div onclick=x>\n<b>\n</div>",
        "[x](javascript:alert(1))",
        "[x](JAVASCRIPT:alert(1))",
        "[x](<java\tscript:alert(1)>)",
        "[x](< javascript:alert(1)>)",
        "[x](javascript&colon;alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](java\\script:alert(1))",
        "[x](data:text/html,<script>)",
        "[x](vbscript:x)",
        "<javascript:alert(1)>",
        "[x][y]\n\n[y]: javascript:alert(1)",
        "[x](\" onclick=alert(1) y=\")",
        "[x](<\" onclick=alert(1) y=\">)",
        "[<img src=x onerror=alert(1)>](a)",
        "`<b>` **<b>** *<b>* # <b>",
        "```\n</code></pre><script>",
        "|<script>|\n|---|\n|<b>|\n",
        "![x](javascript:alert(1))",
        "![<script>](\"><script>)",
    };
    for (const char* text : hostile) {
        const std::string html = readme_html("README.md", text);
        for (const char* never : {"<script", "<img", "<b>", "<div o", "\" onclick", "href=\"java\t",
                                  "href=\"javascript:", "href=\"JAVASCRIPT", "href=\" ",
                                  "href=\"data", "href=\"vb", "javascript&colon;", "href=\"&#"}) {
            EXPECT_EQ(html.find(never), std::string::npos) << html;
        }
    }
}

TEST_F(Markdown, WhatWouldBeTooLongIsShownAsItIs) {
    // A row for each line, with a cell for each column of the head.
    const std::string table =
        repeated("|a", 6'000) + "|\n" + repeated("|---", 12'000) + "|\n" + repeated("a\n", 30'000);
    for (const std::string& text : {table, repeated(">", 101), repeated("> - ", 60'000),
                                    repeated("![", 20'000) + repeated("](a)", 40'000)}) {
        const std::string html = readme_html("README.md", text);
        EXPECT_TRUE(html.starts_with("<pre class=\"plain\">")) << html.substr(0, 100);
        EXPECT_LE(html.size(), readme_html_bytes_max);
    }
}

TEST_F(Markdown, OpeningsWithoutEndsCostNoMoreThanTheirLength) {
    for (const char* opening : {"[", "*", "`", "**", "![", "[a](", "[a](<", "> - ", "<", "&", "_a ",
                                "`` ` ", "[a]\n", "[a]: b\n", "1. "}) {
        const std::string text = repeated(opening, 1'048'576);
        EXPECT_LE(readme_html("README.md", text).size(), readme_html_bytes_max) << opening;
    }
}

}  // namespace
}  // namespace tiderace::http::listing
