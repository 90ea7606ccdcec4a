// The messages for a template's author: every one in full, with its place.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/template.h"

namespace tiderace::text {
namespace {

struct Author {
    std::string name;
};
struct Post {
    std::string title;
    std::optional<Author> author;
    std::vector<int> votes;
    std::map<std::string, int> counts;
    std::chrono::sys_seconds at;
    bool open = false;
};

std::string fault_of(std::string source, Limits limits = {}) {
    const auto made = Template::compile("t", std::move(source), {.limits = limits});
    return made ? "none" : made.error().message();
}
std::string check_fault_of(std::string source) {
    auto made = Template::compile("t", std::move(source));
    if (!made) return "compile: " + made.error().message();
    const auto fits = made->check<Post>();
    return fits ? "none" : fits.error().problem;
}
std::string render_fault_of(std::string source, const auto& value, Limits limits = {}) {
    const auto made = Template::compile("t", std::move(source), {.limits = limits});
    if (!made) return "compile: " + made.error().message();
    std::string out = "before";
    const auto done = made->render(out, value);
    if (!done) {
        EXPECT_EQ(out, "before");
    }
    return done ? "none" : done.error().problem;
}

struct Wrong {
    std::string source;
    std::string message;
};

TEST(Errors, HaveAPlaceAnExcerptAndACaret) {
    EXPECT_EQ(fault_of("<p>\n  <b>é{{ post. }}</b>\n</p>"),
              "t:2:16: expected a name, found \"}}\"\n"
              "    <b>é{{ post. }}</b>\n"
              "                 ^");
    const std::string far = fault_of(std::string(300, 'a') + "{{ ? }}" + std::string(300, 'b'));
    EXPECT_EQ(far.substr(0, far.find('\n')),
              "t:1:304: expected a name, a number, a text or \"(\", found \"?\"");
    EXPECT_LT(far.size(), 300u);
    EXPECT_NE(far.find("aaa{{ ? }}bbb"), std::string::npos);
}

TEST(Errors, OfTheLoopItselfStandAtItsName) {
    EXPECT_EQ(fault_of("{% for a in b %}{{ loop }}{% endfor %}"),
              "t:1:20: loop has index (from 1), first, last and length\n"
              "  {% for a in b %}{{ loop }}{% endfor %}\n"
              "                     ^");
}

TEST(Errors, OfSyntaxSayWhatWasExpected) {
    for (
        const auto& [source, message] : {
            Wrong{"{{ }}", "expected a name, a number, a text or \"(\", found \"}}\""},
            Wrong{"{{ a", "expected \"}}\", found the end of the template"},
            Wrong{"{{ a b }}", "expected \"}}\", found \"b\""},
            Wrong{"{{ a %}", "expected \"}}\", found \"%}\""},
            Wrong{"{{ \"a }}", "a text that does not end; its quote is missing"},
            Wrong{"{{ 99999999999999999999 }}", "a number that is too large"},
            Wrong{"{{ a | }}", "expected the name of a filter, found \"}}\""},
            Wrong{"{{ a | shout }}",
                  "no filter \"shout\"; there are capitalize, date, default, first, fixed, join, "
                  "last, "
                  "length, lower, replace, safe, trim, truncate, upper, urlencode"},
            Wrong{"{{ a | truncate }}", "truncate: expects 1 argument behind a colon, found 0"},
            Wrong{"{{ a | truncate(80) }}", "truncate: expects 1 argument behind a colon, found 0"},
            Wrong{"{{ a | replace: \"x\" }}",
                  "replace: expects 2 arguments behind a colon, found 1"},
            Wrong{"{{ a | upper: 3 }}", "upper: expects no argument, found 1"},
            Wrong{"{{ a | upper() }}", "expected \"}}\", found \"(\""},
            Wrong{"{% if a %}", "this does not end; {% endif %} is missing"},
            Wrong{"{% if a = b %}{% endif %}", "expected \"==\", found \"=\""},
            Wrong{"{% if a %}{% endfor %}", "expected {% endif %}, found {% endfor %}"},
            Wrong{"{% if a %}{% else %}{% else %}{% endif %}", "{% else %} behind {% else %}"},
            Wrong{"{% if a %}{% else %}{% elif b %}{% endif %}", "{% elif %} behind {% else %}"},
            Wrong{"{% if (a %}{% endif %}", "expected \")\", found \"%}\""},
            Wrong{"{% if not not a %}{% endif %}", "\"not\" twice; write neither"},
            Wrong{"{% endif %}", "{% endif %} without what it belongs to"},
            Wrong{"{% else %}", "{% else %} without what it belongs to"},
            Wrong{"{% for a of b %}{% endfor %}", "expected \"in\", found \"of\""},
            Wrong{"{% for in b %}{% endfor %}", "expected a name, found \"in\""},
            Wrong{"{% for loop in b %}{% endfor %}", "\"loop\" is taken; choose another name"},
            Wrong{"{% for a in b %}", "this does not end; {% endfor %} is missing"},
            Wrong{"{% for a in b %}{{ loop.size }}{% endfor %}",
                  "loop has index (from 1), first, last and length"},
            Wrong{
                "{% while a %}",
                "expected if, for, include, block, extends, raw, or the end of one of these, found "
                "\"while\""},
            Wrong{"{# a", "a comment that does not end; \"#}\" is missing"},
            Wrong{"{% raw %}{% endrow %}", "this does not end; {% endraw %} is missing"},
            Wrong{"{% include a %}", "expected the name of a template in quotes, found \"a\""},
            Wrong{"{% include \"\" %}", "the name of a template is empty"},
            Wrong{"{% include \"x\" %}", "no template \"x\""},
            Wrong{"{% extends \"x\" %}", "no template \"x\""},
            Wrong{"a{% extends \"x\" %}", "{% extends %} has to be the first thing in a template"},
            Wrong{
                "{% extends \"x\" %} a",
                "a template that extends another shows only its blocks; put this into a {% block … "
                "%}"},
            Wrong{
                "{% extends \"x\" %}{{ a }}",
                "a template that extends another shows only its blocks; put this into a {% block … "
                "%}"},
            Wrong{"{% block a %}{% endblock %}{% block a %}{% endblock %}", "a second block \"a\""},
            Wrong{"{% block a %}", "this does not end; {% endblock %} is missing"},
            Wrong{
                "{% if a %}<p{% endif %}",
                "the branches of this {% if %} end in different places: inside the tag <p>, and in "
                "the text"},
        }) {
        const std::string found = fault_of(source);
        const std::size_t from = found.find(": ") + 2;
        EXPECT_EQ(found.substr(from, found.find('\n') - from), message) << source;
    }
}

TEST(Errors, OfTypesAreFoundByCheck) {
    for (const auto& [source, message] : {
             Wrong{"{{ titel }}", "no \"titel\"; Post has title, author, votes, counts, at, open"},
             Wrong{"{{ author.nam }}", "no \"nam\"; Author has name"},
             Wrong{"{{ title.size }}", "no \"size\" in a text"},
             Wrong{"{{ votes }}",
                   "a list has no text; go through it by {% for %}, or show one of its members"},
             Wrong{"{{ author }}",
                   "an object has no text; go through it by {% for %}, or show one of its members"},
             Wrong{"{% for a in title %}{% endfor %}",
                   "{% for %} expects a list or a map, found a text"},
             Wrong{"{% for a, b in votes %}{% endfor %}",
                   "{% for key, value in … %} expects a map, found a list"},
             Wrong{"{% for v in votes %}{{ v.x }}{% endfor %}", "no \"x\" in an integer"},
             Wrong{"{% for k, v in counts %}{{ k }}{{ v }}{{ v.x }}{% endfor %}",
                   "no \"x\" in an integer"},
             Wrong{"{% if title > 3 %}{% endif %}", "a text cannot be compared with an integer"},
             Wrong{"{% if titel %}{% endif %}",
                   "no \"titel\"; Post has title, author, votes, counts, at, open"},
             Wrong{"{{ title | safe }}", "safe: expects a text::SafeHtml, found a text"},
             Wrong{"{{ title | date: \"%Y\" }}", "date: expects a time, found a text"},
             Wrong{"{{ title | fixed: 2 }}", "fixed: expects a number, found a text"},
             Wrong{"{{ at | join: \",\" }}", "join: expects a list, found a time"},
             Wrong{"{{ votes | upper }}", "upper: expects a text, found a list"},
             Wrong{"{{ votes | first | upper }}", "none"},
             Wrong{"{{ author.name }}{{ counts.tea }}{{ at }}", "none"},
             Wrong{"{% for v in votes %}{{ loop.index }}{{ v }}{% endfor %}", "none"},
             Wrong{"{% for v in votes %}{{ loop.length | fixed: 1 }}{% endfor %}", "none"},
             Wrong{"{% for v in votes %}{{ loop.last | fixed: 1 }}{% endfor %}",
                   "fixed: expects a number, found true or false"},
         }) {
        EXPECT_EQ(check_fault_of(source), message) << source;
    }
}

TEST(Errors, OfValuesAreFoundWhenRendered) {
    const Map map = {{"a", 1}, {"list", List{1, "b"}}};
    EXPECT_EQ(render_fault_of("{{ b }}", map), "no \"b\"; the map has no such key");
    EXPECT_EQ(render_fault_of("{{ a.b }}", map), "no \"b\" in an integer");
    EXPECT_EQ(render_fault_of("{{ list }}", map),
              "a list has no text; go through it by {% for %}, or show one of its members");
    EXPECT_EQ(render_fault_of("{{ a | safe }}", map),
              "safe: expects a text::SafeHtml, found an integer");
    EXPECT_EQ(render_fault_of("{{ nothing | safe }}", map),
              "compile: t:1:14: safe: has to be the only "
              "filter of a name\n  {{ nothing | safe }}\n"
              "               ^");
    EXPECT_EQ(render_fault_of("{% if a == \"x\" %}{% endif %}", map),
              "an integer cannot be compared with a text");
    EXPECT_EQ(render_fault_of("{{ \"x\" | truncate: 0 }}", map),
              "truncate: expects a number of characters, as in truncate: 80");
    EXPECT_EQ(render_fault_of("{{ a | default: b }}", map), "no \"b\"; the map has no such key");
    EXPECT_EQ(render_fault_of("{{ \"x\" | replace: \"x\", b }}", map),
              "no \"b\"; the map has no such key");
    EXPECT_EQ(render_fault_of("{{ titel }}", Post{}),
              "no \"titel\"; Post has title, author, votes, counts, at, open");
    EXPECT_EQ(render_fault_of("{{ at | date: \"%q\" }}", Post{}),
              "date: expects a format of %Y %m %d %H %M %S %y %e %j %B %b %A %a %%");
}

// The thousandth condition is no deeper than the first, so nothing recurses for it.
TEST(Errors, AreNotMadeByALongChainOfConditions) {
    for (const std::string more : {" or open", " and not open"}) {
        std::string chain = "{% if not open";
        for (int i = 0; i < 70'000; ++i) chain += more;
        EXPECT_EQ(check_fault_of(chain + " %}a{% endif %}"), "none") << more;
        EXPECT_EQ(render_fault_of(chain + " %}a{% endif %}", Post{}), "none") << more;
    }
}

TEST(Errors, NameTheLimitThatIsReached) {
    const auto begins = [](const std::string& text, std::string_view with) {
        EXPECT_EQ(text.substr(0, with.size()), with) << text;
    };
    begins(fault_of("12345678901", {.source_bytes_max = 10}),
           "t:1:1: the template has 11 bytes, more than source_bytes_max (10)");
    std::string deep;
    for (int i = 0; i < 40; ++i) deep += "{% if a %}";
    begins(fault_of(deep), "t:1:321: statements deeper than nesting_max (32)");
    begins(
        fault_of("{% if " + std::string(40, '(') + "a" + std::string(40, ')') + " %}{% endif %}"),
        "t:1:39: parentheses deeper than nesting_max (32)");
    std::string loops;
    for (int i = 0; i < 17; ++i) loops += "{% for a in b %}";
    for (int i = 0; i < 17; ++i) loops += "{% endfor %}";
    begins(fault_of(loops), "t:1:257: loops deeper than loop_depth_max (16)");
    begins(fault_of("{{ a }}{{ a }}{{ a }}", {.nodes_max = 2}),
           "t:1:15: the template with its includes has more parts than nodes_max (2)");
    std::string filters = "{{ a ";
    for (int i = 0; i < 17; ++i) filters += "| upper ";
    begins(fault_of(filters + "}}"),
           "t:1:136: more filters than filters_max (16) in one statement");
    const Map map = {{"list", List(100, Value(1))}, {"text", std::string(100, 'a')}};
    EXPECT_EQ(render_fault_of("{% for a in list %}{% for b in list %}x{% endfor %}{% endfor %}",
                              map, {.iterations_max = 50}),
              "the loops go round more often than iterations_max (50)");
    EXPECT_EQ(render_fault_of("{% for a in list %}x{% endfor %}", map, {.output_bytes_max = 50}),
              "the output is longer than output_bytes_max (50)");
    EXPECT_EQ(render_fault_of("{{ text }}", map, {.output_bytes_max = 50}),
              "the output is longer than output_bytes_max (50)");
    // Neither the text nor the value alone is too long.
    const std::string behind(50, 'b');
    EXPECT_EQ(render_fault_of("{{ text }}" + behind, map, {.output_bytes_max = 149}),
              "the output is longer than output_bytes_max (149)");
    EXPECT_EQ(render_fault_of("{% if text %}{{ text }}{% endif %}" + behind, map,
                              {.output_bytes_max = 149}),
              "the output is longer than output_bytes_max (149)");
    EXPECT_EQ(render_fault_of("{{ text }}" + behind, map, {.output_bytes_max = 150}), "none");
    EXPECT_EQ(render_fault_of("<script>f({{ list }})</script>", map, {.output_bytes_max = 50}),
              "the value is nested too deeply for JavaScript, or longer than output_bytes_max");
    // Earlier output counts: 50 of the 250 bytes are used, and the list takes 201.
    const std::string before(50 - 10, 'a');
    EXPECT_EQ(
        render_fault_of(before + "<script>f({{ list }})</script>", map, {.output_bytes_max = 250}),
        "the value is nested too deeply for JavaScript, or longer than output_bytes_max");
    Value deep_value(1);
    for (int i = 0; i < 1000; ++i) deep_value = Value(List{deep_value});
    EXPECT_EQ(render_fault_of("<script>f({{ v }})</script>", Map{{"v", deep_value}}),
              "the value is nested too deeply for JavaScript, or longer than output_bytes_max");
}

}  // namespace
}  // namespace tiderace::text
