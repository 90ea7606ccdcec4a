// Where a value may stand in HTML, how it is written there, and where it is refused.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/random.h"
#include "tiderace/template.h"

namespace tiderace::text {
namespace {

struct Hostile {
    std::string x;
    std::string y;
    int n = 7;
    bool yes = true;
    std::vector<std::string> list = {"a", "b"};
    SafeHtml html{"<b>bold</b>"};
};

std::string render_or_fault(const std::string& source, const Hostile& value) {
    const auto made = Template::compile("t", source);
    if (!made) return "compile: " + made.error().problem;
    std::string out;
    const auto done = made->render(out, value);
    return done ? out : "render: " + done.error().problem;
}

struct Shown {
    std::string source;
    std::string x;
    std::string expected;
};

TEST(Contexts, EscapeTextAndAttributes) {
    for (const Shown& shown : {
             Shown{"<p>{{ x }}</p>", "<script>alert(1)</script>",
                   "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"},
             Shown{"<p>{{ x }}</p>", "a & \"b\" 'c' `d`",
                   "<p>a &amp; &#34;b&#34; &#39;c&#39; &#96;d&#96;</p>"},
             Shown{"<p>{{ x }}</p>", std::string("\0", 1), "<p>\xEF\xBF\xBD</p>"},
             Shown{"<a title=\"{{ x }}\">", "\" onclick=\"alert(1)",
                   "<a title=\"&#34; onclick=&#34;alert(1)\">"},
             Shown{"<a title='{{ x }}'>", "' onclick='alert(1)",
                   "<a title='&#39; onclick=&#39;alert(1)'>"},
             Shown{"<a title = \"a {{ x }} b\" >", "\"", "<a title = \"a &#34; b\" >"},
             Shown{"<title>{{ x }}</title>", "</title><script>",
                   "<title>&lt;/title&gt;&lt;script&gt;</title>"},
             Shown{"<textarea>{{ x }}</textarea>", "</textarea>",
                   "<textarea>&lt;/textarea&gt;</textarea>"},
             Shown{"<meta property=og:title content=\"{{ x }}\">", "\"",
                   "<meta property=og:title content=\"&#34;\">"},
             Shown{"1 < 2 {{ x }}", "<", "1 < 2 &lt;"},
             Shown{"<!-- no value --><p>{{ x }}", "<", "<!-- no value --><p>&lt;"},
             Shown{"<!--><p>{{ x }}", "<", "<!--><p>&lt;"},
             Shown{"<!--a--!><p>{{ x }}", "<", "<!--a--!><p>&lt;"},
             Shown{"<!doctype html><p>{{ x }}", "<", "<!doctype html><p>&lt;"},
             Shown{"<style>p { color: red }</style>{{ x }}", "<",
                   "<style>p { color: red }</style>&lt;"},
             Shown{"{{ html }}", "", "&lt;b&gt;bold&lt;/b&gt;"},
             Shown{"<p>{{ html | safe }}</p>", "", "<p><b>bold</b></p>"},
         }) {
        EXPECT_EQ(render_or_fault(shown.source, {.x = shown.x}), shown.expected) << shown.source;
    }
}

TEST(Contexts, FilterAndEncodeUrls) {
    for (const Shown& shown : {
             Shown{"<a href=\"{{ x }}\">", "https://a.example/b c?d=e&f='\"",
                   "<a href=\"https://a.example/b%20c?d=e&amp;f=%27%22\">"},
             Shown{"<a href=\"{{ x }}\">", "javascript:alert(1)", "<a href=\"#blocked\">"},
             Shown{"<a href=\"{{ x }}\">", " JaVaScRiPt:alert(1)", "<a href=\"#blocked\">"},
             Shown{"<a href=\"{{ x }}\">", "java\nscript:alert(1)", "<a href=\"#blocked\">"},
             Shown{"<a href=\"{{ x }}\">", "\x01javascript:alert(1)", "<a href=\"#blocked\">"},
             Shown{"<a href=\"{{ x }}\">", "javascript&colon;alert(1)",
                   "<a href=\"javascript&amp;colon;alert(1)\">"},
             Shown{"<a href=\"{{ x }}\">", "data:text/html,x", "<a href=\"#blocked\">"},
             Shown{"<a href=\"{{ x }}\">", "vbscript:x", "<a href=\"#blocked\">"},
             Shown{"<a href=\"{{ x }}\">", "mailto:a@b.example", "<a href=\"mailto:a@b.example\">"},
             Shown{"<a href=\"{{ x }}\">", "/a/b:c", "<a href=\"/a/b:c\">"},
             Shown{"<a href=\"{{ x }}\">", "100%", "<a href=\"100%25\">"},
             Shown{"<a href=\"{{ x }}\">", "%20", "<a href=\"%20\">"},
             Shown{"<a href=\"{{ x }}\">", "", "<a href=\"\">"},
             Shown{"<a href=\"/tag/{{ x }}\">", "a/b?c\"", "<a href=\"/tag/a%2Fb%3Fc%22\">"},
             Shown{"<a href=\"/s?q={{ x }}&amp;n={{ n }}\">", "a&b=c",
                   "<a href=\"/s?q=a%26b%3Dc&amp;n=7\">"},
             Shown{"<a href=\"{{ x }}/more\">", "https://a.example",
                   "<a href=\"https://a.example/more\">"},
             Shown{"<a href=\"{{ x }}{{ x }}\">",
                   "javascript:", "<a href=\"#blockedjavascript%3A\">"},
             Shown{"<form action='{{ x }}'>", "javascript:x", "<form action='#blocked'>"},
             Shown{"<button formaction=\"{{ x }}\">", "javascript:x",
                   "<button formaction=\"#blocked\">"},
             Shown{"<img src=\"{{ x }}\">", "javascript:x", "<img src=\"#blocked\">"},
             Shown{"<a xlink:href=\"{{ x }}\">", "javascript:x", "<a xlink:href=\"#blocked\">"},
             Shown{"<a HREF=\"{{ x }}\">", "javascript:x", "<a HREF=\"#blocked\">"},
             Shown{"<a href=\"mailto:{{ x }}\">", "a@b?cc=d", "<a href=\"mailto:a%40b%3Fcc%3Dd\">"},
             Shown{"<script src=\"/js/{{ x }}.js\"></script>", "../a",
                   "<script src=\"/js/..%2Fa.js\"></script>"},
             Shown{"<a href=\"{% if yes %}{{ x }}{% else %}#{% endif %}\">", "javascript:x",
                   "<a href=\"#blocked\">"},
             Shown{"<a{% if yes %} href=\"/{{ x }}\"{% endif %} title=\"{{ x }}\">", "/",
                   "<a href=\"/%2F\" title=\"/\">"},
             Shown{"<a href=\"{% if yes %}/en{% endif %}/p/{{ x }}\">", "/",
                   "<a href=\"/en/p/%2F\">"},
         }) {
        EXPECT_EQ(render_or_fault(shown.source, {.x = shown.x}), shown.expected) << shown.source;
    }
}

TEST(Contexts, EscapeJavaScript) {
    for (const Shown& shown : {
             Shown{"<script>var a = {{ x }};</script>", "</script>\"'\\\n",
                   "<script>var a = "
                   "\"\\u003C\\u002Fscript\\u003E\\u0022\\u0027\\u005C\\u000A\";</script>"},
             Shown{"<script>var a = '{{ x }}';</script>", "';alert(1)//",
                   "<script>var a = '\\u0027;alert(1)\\u002F\\u002F';</script>"},
             Shown{"<script>var a = \"{{ x }}\";</script>", "\xE2\x80\xA8é",
                   "<script>var a = \"\\u2028é\";</script>"},
             Shown{"<script>f({{ n }}, {{ yes }}, {{ list }})</script>", "",
                   "<script>f(7, true, [\"a\",\"b\"])</script>"},
             Shown{"<script>[{% for i in list %}{{ i }},{% endfor %}]</script>", "",
                   "<script>[\"a\",\"b\",]</script>"},
             Shown{"<script{% if yes %} async{% endif %}>f({{ x }})</script>", "</",
                   "<script async>f(\"\\u003C\\u002F\")</script>"},
             Shown{"<script>// it's\nf({{ x }})</script>", "a",
                   "<script>// it's\nf(\"a\")</script>"},
             Shown{"<script>/* \" */ f({{ x }})</script>", "a",
                   "<script>/* \" */ f(\"a\")</script>"},
             Shown{"<script>a = b / 2; c = {{ x }}; d = 4 / 2</script>", "a",
                   "<script>a = b / 2; c = \"a\"; d = 4 / 2</script>"},
             Shown{"<script>a = /[\"/]\\/'/; c = {{ x }}</script>", "a",
                   "<script>a = /[\"/]\\/'/; c = \"a\"</script>"},
             Shown{"<script>a = `x ${ f({ b: `y` }) } '`; c = {{ x }}</script>", "a",
                   "<script>a = `x ${ f({ b: `y` }) } '`; c = \"a\"</script>"},
             Shown{"<script type=\"application/ld+json\">{\"a\": {{ x }}}</script>", "\"",
                   "<script type=\"application/ld+json\">{\"a\": \"\\u0022\"}</script>"},
             Shown{"<button onclick=\"f('{{ x }}')\">", "'); alert(\"&#39;",
                   "<button onclick=\"f('\\u0027); alert(\\u0022\\u0026#39;')\">"},
             Shown{"<script>a - {{ n }}</script>", "", "<script>a - 7</script>"},
         }) {
        EXPECT_EQ(render_or_fault(shown.source, {.x = shown.x}), shown.expected) << shown.source;
    }
    EXPECT_EQ(render_or_fault("<script>a -{{ n }}</script>", {.n = -1}), "<script>a - -1</script>");
}

struct Refused {
    std::string_view source;
    std::string_view because;  // a part of the message
};

constexpr Refused refused[] = {
    {"<a href={{ x }}>", "not in quotes"},
    {"<a title=a{{ x }}>", "not in quotes"},
    {"<{{ x }}>", "behind '<'"},
    {"</{{ x }}>", "behind '<'"},
    {"<h{{ n }}>", "the name of a tag"},
    {"<a {{ x }}>", "the name of an attribute"},
    {"<a data-{{ x }}=\"1\">", "the name of an attribute"},
    {"<a title {{ x }}>", "the name of an attribute"},
    {"<!-- {{ x }} -->", "HTML comment"},
    {"<!-- > {{ x }} -->", "HTML comment"},
    {"<!doctype {{ x }}>", "inside <!"},
    {"<style>{{ x }}</style>", "CSS"},
    {"<p style=\"width: {{ n }}%\">", "CSS"},
    {"<p onclick=\"{{ x }}\">", "inside a JavaScript string"},
    {"<p onclick=\"f({{ n }})\">", "inside a JavaScript string"},
    {"<p onclick=\"f(&quot;{{ x }}&quot;)\">", "&entity;"},
    {"<p onclick=\"f('&{{ x }}')\">", "&entity;"},
    {"<script>`{{ x }}`</script>", "template literal"},
    {"<script>// {{ x }}\n</script>", "JavaScript comment"},
    {"<script>/* {{ x }} */</script>", "JavaScript comment"},
    {"<script>a = /{{ x }}/</script>", "a '/'"},
    {"<script>a = /b{{ x }}/</script>", "regular expression"},
    {"<script>a = '\\{{ x }}'</script>", "backslash"},
    {"<script>if (a) /'/.test(b); f({{ x }})</script>", "a <script> of their own"},
    {"<script>a = 'b\nc'; f({{ x }})</script>", "a <script> of their own"},
    {"<script>a = '<{{ x }}'</script>", "behind '<' could end"},
    {"<script>a = '</scr{{ x }}'</script>", "could end <script>"},
    {"<script>a = '<!--'; f({{ x }})</script>", "'<!--'"},
    {"<script type=\"text/template\">{{ x }}</script>", "neither text nor"},
    {"<script type=\"{{ x }}\"></script>", "in type of <script>"},
    {"<script src=\"{{ x }}\"></script>", "its origin must stand"},
    {"<script src=\"//{{ x }}/a.js\"></script>", "its origin must stand"},
    {"<script src=\"/{{ x }}/a.js\"></script>", "its origin must stand"},
    {"<script src=\"https:/cdn{{ x }}\"></script>", "its origin must stand"},
    {"<script src=\"http:cdn/{{ x }}\"></script>", "its origin must stand"},
    {"<script src=\"//\\/{{ x }}\"></script>", "its origin must stand"},
    {"<script src=\"/\t/cdn{{ x }}\"></script>", "its origin must stand"},
    {"<script src=\"\x01//cdn{{ x }}\"></script>", "its origin must stand"},
    {"<iframe src=\"{{ x }}\">", "its origin must stand"},
    {"<base href=\"{{ x }}\">", "its origin must stand"},
    {"<iframe srcdoc=\"{{ x }}\">", "srcdoc"},
    {"<img srcset=\"{{ x }} 2x\">", "srcset"},
    {"<iframe>{{ x }}</iframe>", "neither text nor"},
    {"<title><{{ x }}</title>", "could end <title>"},
    {"<a href=\"java{{ x }}\">", "complete a scheme"},
    {"<a href=\"javascript:{{ x }}\">", "of this scheme"},
    {"<a href=\"javascript:f('{{ x }}')\">", "of this scheme"},
    {"<a href=\"&#106;avascript:{{ x }}\">", "of this scheme"},
    {"<a href=\"{{ x }}:{{ y }}\">", "behind a value"},
    {"<a href=\"{{ x }}&colon;alert(1)\">", "behind a value"},
    {"<a href=\"{{ x }}&{{ y }};alert(1)\">", "behind a value"},
    {"<a href=\"{% if yes %}java{% endif %}{{ x }}\">", "begins the URL"},
    {"<meta http-equiv=\"refresh\" content=\"{{ x }}\">", "redirect"},
    {"<meta content=\"{{ x }}\" http-equiv=refresh>", "redirect"},
    {"<svg><animate to=\"{{ x }}\">", "in to of <animate>"},
    {"<svg><set attributeName=href to=\"{{ x }}\">", "in to of <set>"},
    {"<svg><script/>{{ x }}", "no empty element"},
    {"<svg><script>a = '{{ x }}'</script></svg>", "<script> inside <svg>"},
    {"<svg><script>a = '&apos;{{ x }}'</script></svg>", "<script> inside <svg>"},
    {"<svg><g><script>{{ x }}</script></g></svg>", "<script> inside <svg>"},
    {"<svg><svg></svg><script>{{ x }}</script></svg>", "<script> inside <svg>"},
    {"<MATH><script>{{ x }}</script></MATH>", "<script> inside <svg>"},
    {"<svg a=b/><script>{{ x }}</script>", "<script> inside <svg>"},
    {"<svg><title><a href='{{ x }}'></a></title></svg>", "inside <svg>"},
    {"<svg><title><!--</title>{{ x }}-->", "inside <svg>"},
    {"{% if yes %}<svg>{% endif %}<script>{{ x }}</script>", "end in different places"},
    {"{% for i in list %}<script>{{ x }}</script><svg>{% endfor %}", "ends in another place"},
    {"<svg><![CDATA[ {{ x }} ]]>", "CDATA"},
    {"<p title=\"{{ html | safe }}\">", "between tags"},
    {"{{ html | safe | upper }}", "only filter"},
    {"{{ x | upper | safe }}", "only filter"},
    {"<a href=\"/{{ x | urlencode }}\">", "encoded already"},
    {"<a title=\"{{ x }}", "ends in the value of title"},
    {"<p", "ends inside the tag <p"},
    {"{% if yes %}<p title=\"{% endif %}{{ x }}", "end in different places"},
    {"{% if yes %}<script>{% endif %}{{ x }}", "end in different places"},
    {"<a {% if yes %}href{% else %}title{% endif %}=\"{{ x }}\">", "put a space"},
    {"<a {% if yes %}on{% endif %}click=\"{{ x }}\">", "put a space"},
    {"<a {% if yes %}href {% endif %} =\"{{ x }}\">", "without the name"},
    {"<script>{% if yes %}'{% endif %}{{ x }}'</script>", "end in different places"},
    {"<s{% if yes %} a=\"b\"{% endif %}cript>{{ x }}</script>", "put a space"},
    {"<a{% if yes %} href{% endif %}=\"{{ x }}\">", "put a space"},
    {"{% for i in list %}<p title=\"{% endfor %}", "ends in another place"},
    {"{% for i in list %}a{% else %}<p title=\"{% endfor %}", "ends in another place"},
    {"<p title=\"a\"b\"{{ x }}\">", "is a quote or a '>' missing"},
};

TEST(Contexts, RefuseWhereNoEscapingIsSafe) {
    for (const auto& [source, because] : refused) {
        const auto made = Template::compile("t", std::string(source));
        ASSERT_FALSE(made) << source;
        EXPECT_NE(made.error().problem.find(because), std::string::npos) << source << "\n"
                                                                         << made.error().message();
    }
}

TEST(Contexts, InsideSvgTitlesHoldValuesAndBehindItScripts) {
    for (const Shown& shown : {
             Shown{"<svg><title>{{ x }}</title><path d=\"{{ x }}\"/></svg>", "<",
                   "<svg><title>&lt;</title><path d=\"&lt;\"/></svg>"},
             Shown{"<svg><g/></svg><script>a = {{ x }}</script>", "a",
                   "<svg><g/></svg><script>a = \"a\"</script>"},
             Shown{"<svg/><script>a = {{ x }}</script>", "a", "<svg/><script>a = \"a\"</script>"},
             Shown{"{% if yes %}<svg></svg>{% endif %}<script>a = {{ x }}</script>", "a",
                   "<svg></svg><script>a = \"a\"</script>"},
             Shown{"<svg><script>f(1 < 2)</script></svg>{{ x }}", "<",
                   "<svg><script>f(1 < 2)</script></svg>&lt;"},
         }) {
        EXPECT_EQ(render_or_fault(shown.source, {.x = shown.x}), shown.expected) << shown.source;
    }
}

TEST(Contexts, MayDifferInsideATagWhereThatIsHarmless) {
    EXPECT_EQ(render_or_fault("<input {% if yes %}checked{% endif %}>", {}), "<input checked>");
    EXPECT_EQ(
        render_or_fault("<p {% if yes %}class=\"{{ x }}\"{% endif %} id=\"{{ y }}\">", {"a", "b"}),
        "<p class=\"a\" id=\"b\">");
    EXPECT_EQ(render_or_fault("<p {% if yes %}id='a'{% else %}hidden{% endif %} title=\"{{ x }}\">",
                              {"\""}),
              "<p id='a' title=\"&#34;\">");
    EXPECT_EQ(render_or_fault("<script>f({% if yes %}1{% endif %}, {{ x }})</script>", {"a"}),
              "<script>f(1, \"a\")</script>");
}

TEST(Contexts, AreNotThereInPlainText) {
    auto made = Template::compile("mail", "<{{ x }}> {{ html | safe }}", {.mode = Mode::plain});
    ASSERT_TRUE(made) << made.error().message();
    std::string out;
    ASSERT_TRUE(made->render(out, Hostile{.x = "<&\""}));
    EXPECT_EQ(out, "<<&\"> <b>bold</b>");
}

// ---- what a browser makes of the output ---------------------------------------------------------

// The structure of an HTML text without its texts: tags with the names of their attributes, and of
// scripts what is not in strings. Written on its own, so that it shares no mistake with the room.
class Skeleton {
  public:
    explicit Skeleton(std::string_view html) : html_(html) {
        while (at_ < html_.size()) {
            if (html_.substr(at_).starts_with("<!--")) {
                at_ = std::min(html_.find("-->", at_), html_.size() - 3) + 3;
                out_ += "<!---->";
            } else if (html_[at_] == '<' && at_ + 1 < html_.size() &&
                       std::string_view("/abcdefghijklmnopqrstuvwxyz").find(html_[at_ + 1]) !=
                           std::string_view::npos) {
                tag();
            } else {
                ++at_;
            }
        }
    }
    const std::string& text() const { return out_; }
    const std::vector<std::string>& urls() const { return urls_; }

  private:
    static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
    char peek() const { return at_ < html_.size() ? html_[at_] : '\0'; }

    void tag() {
        std::string name;
        ++at_;
        while (at_ < html_.size() && !is_space(peek()) && peek() != '>') name += html_[at_++];
        out_ += "<" + name;
        while (at_ < html_.size() && peek() != '>') attribute();
        ++at_;
        out_ += ">";
        if (name == "script") script();
        if (name == "title") at_ = std::min(html_.find("</title", at_), html_.size());
    }
    void attribute() {
        while (is_space(peek()) || peek() == '/') ++at_;
        std::string name;
        while (at_ < html_.size() && !is_space(peek()) && peek() != '=' && peek() != '>') {
            name += html_[at_++];
        }
        if (name.empty() && peek() == '=') ++at_;
        if (!name.empty()) out_ += " " + name;
        if (peek() != '=') return;
        const char quote = html_[++at_];
        if (quote != '"' && quote != '\'') {
            while (at_ < html_.size() && !is_space(peek()) && peek() != '>') out_ += html_[at_++];
            return;
        }
        const std::size_t end = std::min(html_.find(quote, at_ + 1), html_.size());
        const std::string value(html_.substr(at_ + 1, end - at_ - 1));
        if (name == "href") urls_.push_back(value);
        if (name == "onclick") code(value);
        at_ = end + 1;
    }
    void script() {
        const std::size_t end = std::min(html_.find("</script", at_), html_.size());
        code(html_.substr(at_, end - at_));
        at_ = end;
    }
    void code(std::string_view js) {
        for (std::size_t i = 0; i < js.size(); ++i) {
            out_ += js[i];
            if (js[i] != '"' && js[i] != '\'') continue;
            const char quote = js[i++];
            while (i < js.size() && js[i] != quote) {
                if (js[i] == '\n') out_ += "BROKEN";
                i += js[i] == '\\' ? 2 : 1;
            }
            out_ += quote;
        }
    }

    std::string_view html_;
    std::size_t at_ = 0;
    std::string out_;
    std::vector<std::string> urls_;
};

std::string hostile_text(Random& random) {
    constexpr std::string_view pieces[] = {"<",
                                           ">",
                                           "\"",
                                           "'",
                                           "`",
                                           "&",
                                           "/",
                                           "\\",
                                           "=",
                                           " ",
                                           "\n",
                                           "\r",
                                           "-",
                                           "--",
                                           "!",
                                           "--!>",
                                           "-->",
                                           "<!--",
                                           "</script",
                                           "</script>",
                                           "<script>",
                                           "</title>",
                                           "javascript:",
                                           "data:",
                                           ":",
                                           ";",
                                           "&colon;",
                                           "&#58;",
                                           "on",
                                           "onclick=",
                                           "{{",
                                           "${",
                                           "*/",
                                           "//",
                                           "alert(1)",
                                           "a",
                                           "\xE2\x80\xA8",
                                           "\xE2\x80",
                                           "\xC0",
                                           "\xFF",
                                           "%",
                                           "%3",
                                           "%00",
                                           "#",
                                           "?",
                                           "\x01",
                                           "\t",
                                           "x",
                                           "https",
                                           "/*"};
    std::string text;
    for (std::size_t count = random.below(8); count > 0; --count) {
        if (random.chance(1, 10)) {
            text += static_cast<char>(random.below(256));
        } else {
            text += pieces[random.below(std::size(pieces))];
        }
    }
    return text;
}

constexpr std::string_view page =
    "<title>{{ x }}</title><!-- c --><p class=\"{{ x }} {{ y }}\" title='{{ y }}'>{{ x }}{{ y "
    "}}</p>"
    "<a href=\"{{ x }}\">{{ y }}</a><a href='{{ x }}{{ y }}'>a</a><a href=\"/p/{{ x }}?q={{ y "
    "}}\">b</a>"
    "<a href=\"{{ x }}/{{ y }}\">c</a>"
    "<p {% if yes %}id=\"{{ x }}\"{% endif %}>{% for i in list %}<i>{{ i }}{{ x }}</i>{% endfor "
    "%}</p>"
    "<button onclick=\"f('{{ x }}', &quot;a&quot;)\">{{ y }}</button>"
    "<script>f({{ x }}, '{{ y }}', \"{{ x }}{{ y }}\", {{ list }});</script><p>{{ y }}</p>";

TEST(Contexts, CannotBeLeftByAnyValue) {
    const auto made = Template::compile("page", std::string(page));
    ASSERT_TRUE(made) << made.error().message();
    std::string out;
    ASSERT_TRUE(made->render(out, Hostile{.x = "x", .y = "y", .list = {"z", "z"}}));
    const std::string expected = Skeleton(out).text();
    ASSERT_NE(expected.find("<script>f(\"\", '', \"\", [\"\",\"\"]);</script>"), std::string::npos)
        << expected;
    Random random(17);
    for (int round = 0; round < 5'000; ++round) {
        Hostile value = {.x = hostile_text(random), .y = hostile_text(random)};
        value.list = {hostile_text(random), hostile_text(random)};
        out.clear();
        ASSERT_TRUE(made->render(out, value));
        const Skeleton skeleton(out);
        ASSERT_EQ(skeleton.text(), expected) << out;
        for (const std::string& url : skeleton.urls()) {
            const std::size_t mark = url.find_first_of(":/?#&");
            if (mark == url.npos || url[mark] != ':') continue;
            const std::string scheme = url.substr(0, mark);
            ASSERT_TRUE(scheme == "https" || scheme == "http" || scheme == "mailto") << url;
        }
    }
}

}  // namespace
}  // namespace tiderace::text
