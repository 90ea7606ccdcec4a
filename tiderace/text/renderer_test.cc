#include "tiderace/text/renderer.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tiderace/template.h"

// A sanitizer has an operator new of its own.
#ifndef TIDERACE_SANITIZED
namespace {
std::size_t allocations = 0;
}
void* operator new(std::size_t bytes) {
    ++allocations;
    void* const block = std::malloc(bytes);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}
void operator delete(void* block) noexcept {
    std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
    std::free(block);
}
#endif

namespace tiderace::text {
namespace {

enum class Mood : std::uint8_t { calm, rough };

struct Person {
    std::string name;
    std::optional<std::string> site;
};
struct Note {
    std::string title = "Tides";
    std::string_view summary = "ebb & flow";
    const char* kind = "note";
    Person author = {"Ada", std::nullopt};
    std::optional<Person> editor;
    std::unique_ptr<Person> owned = std::make_unique<Person>("Eve");
    std::shared_ptr<const Person> shared = std::make_shared<const Person>("Sam");
    const Person* pointed = nullptr;
    Mood mood = Mood::rough;
    std::uint64_t big = std::numeric_limits<std::uint64_t>::max();
    std::int8_t small = -5;
    float ratio = 0.1F;
    double price = 2.5;
    bool open = true;
    std::chrono::sys_time<std::chrono::milliseconds> at{std::chrono::milliseconds(-1)};
    std::vector<std::string> tags = {"sea", "moon", "wind"};
    std::array<int, 2> pair = {1, 2};
    std::deque<bool> flags = {true, false};
    std::set<std::string> names = {"b", "a"};
    std::map<std::string, int> counts = {{"tea", 2}, {"rum", 3}};
    std::unordered_map<std::string, std::string> words = {{"one", "eins"}};
    std::map<std::string, std::vector<int>, std::less<>> lists = {{"x", {7}}};
    std::vector<Person> authors = {{"Ada", "a.example"}, {"Bob", std::nullopt}};
    std::vector<int> none = {};
};

std::string shown(std::string source, const auto& value) {
    const auto made = Template::compile("t", std::move(source), {.mode = Mode::plain});
    if (!made) return made.error().message();
    std::string out;
    const auto done = made->render(out, value);
    return done ? out : done.error().message();
}
std::string shown(std::string source) {
    return shown(std::move(source), Note{});
}

struct Case {
    std::string source;
    std::string expected;
};

TEST(Renderer, ShowsEveryKindOfValue) {
    for (const auto& [source, expected] : {
             Case{"{{ title }} {{summary}} {{kind}}", "Tides ebb & flow note"},
             Case{"{{ author.name }}[{{ author.site }}]", "Ada[]"},
             Case{"[{{ editor }}][{{ editor.name }}]", "[][]"},
             Case{"{{ owned.name }} {{ shared.name }} [{{ pointed.name }}]", "Eve Sam []"},
             Case{"{{ mood }}", "rough"},
             Case{"{{ big }} {{ small }} {{ ratio }} {{ price }} {{ open }}",
                  "18446744073709551615 -5 0.1 2.5 true"},
             Case{"{{ at }}", "1969-12-31T23:59:59Z"},
             Case{"{{ counts.tea }} {{ words.one }}", "2 eins"},
             Case{"{{ lists.x | first }}", "7"},
             Case{"{{ 12 }} {{ -1.5 }} {{ 'a\"b' }} {{ \"a\\n\\\"\" }} {{ true }}[{{ nothing }}]",
                  "12 -1.5 a\"b a\n\" true[]"},
             Case{"{{ counts.gin | default: \"none\" }} {{ title | default: \"x\" }}",
                  "none Tides"},
         }) {
        EXPECT_EQ(shown(source), expected) << source;
    }
}

TEST(Renderer, GoesThroughListsAndMaps) {
    for (const auto& [source, expected] : {
             Case{"{% for t in tags %}{{ loop.index }}/{{ loop.length }} {{ t }}{% if not "
                  "loop.last %}, "
                  "{% endif %}{% endfor %}",
                  "1/3 sea, 2/3 moon, 3/3 wind"},
             Case{"{% for t in tags %}{% if loop.first %}({% endif %}{{ t }}{% endfor %})",
                  "(seamoonwind)"},
             Case{"{% for k, v in counts %}{{ k }}={{ v }};{% endfor %}", "rum=3;tea=2;"},
             Case{"{% for v in counts %}{{ v }}{% endfor %}", "32"},
             Case{"{% for n in none %}x{% else %}empty{% endfor %}", "empty"},
             Case{"{% for n in editor.tags %}x{% else %}empty{% endfor %}", "empty"},
             Case{"{% for p in pair %}{% for f in flags %}{{ p }}{{ f }}{{ loop.index }} {% endfor "
                  "%}{{ loop.index }};{% endfor %}",
                  "1true1 1false2 1;2true1 2false2 2;"},
             Case{"{% for a in authors %}{{ a.name }}:{{ a.site | default: title }} {% endfor %}",
                  "Ada:a.example Bob:Tides "},
             Case{"{% for title in names %}{{ title }}{% endfor %}{{ title }}", "abTides"},
             Case{"{% for k, list in lists %}{% for v in list %}{{ k }}{{ v }}{% endfor %}{% "
                  "endfor %}",
                  "x7"},
         }) {
        EXPECT_EQ(shown(source), expected) << source;
    }
}

TEST(Renderer, DecidesConditions) {
    for (const auto& [condition, expected] : {
             Case{"open", "yes"},
             Case{"not open", "no"},
             Case{"none", "no"},
             Case{"tags", "yes"},
             Case{"editor", "no"},
             Case{"author", "yes"},
             Case{"price > 2", "yes"},
             Case{"price >= 2.5 and price <= 2.5", "yes"},
             Case{"small < 0", "yes"},
             Case{"big > small", "yes"},
             Case{"small < big", "yes"},
             Case{"big == 1", "no"},
             Case{"mood == \"rough\"", "yes"},
             Case{"title != 'Tides'", "no"},
             Case{"title < \"Zebra\"", "yes"},
             Case{"editor == nothing", "yes"},
             Case{"author.site != nothing", "no"},
             Case{"editor.name > 3", "no"},
             Case{"false or open and false", "no"},
             Case{"(false or open) and true", "yes"},
             Case{"not (open and false)", "yes"},
             Case{"tags | length == 3", "yes"},
             Case{"open == true", "yes"},
             Case{"at < at", "no"},
             Case{"at == at", "yes"},
             Case{"open or missing.name", "yes"},
         }) {
        EXPECT_EQ(shown("{% if " + condition + " %}yes{% else %}no{% endif %}"), expected)
            << condition;
    }
    EXPECT_EQ(shown("{% if none %}a{% elif open %}b{% elif open %}c{% else %}d{% endif %}"), "b");
    EXPECT_EQ(shown("{% if none %}a{% elif none %}b{% endif %}c"), "c");
}

TEST(Renderer, KeepsAndTrimsWhiteSpace) {
    for (const auto& [source, expected] : {
             Case{"a {{ 1 }} b", "a 1 b"},
             Case{"a {{- 1 -}} b", "a1b"},
             Case{"a\n  {%- if true -%}\n b \n{%- endif %}\nc", "ab\nc"},
             Case{"a {# b #} c", "a  c"},
             Case{"a {#- b -#} c", "ac"},
             Case{"{% raw %}{{ a }} {% if %} {# #}{% endraw %}", "{{ a }} {% if %} {# #}"},
             Case{"a {%- raw -%} {{ a }} {%- endraw -%} b", "a{{ a }}b"},
             Case{"{%raw%}a {%{%endraw%}", "a {%"},
             Case{"{ a } {", "{ a } {"},
             Case{"{%if true%}a{%endif%}", "a"},
             Case{"{{{ 1 }}}", "expected"},
         }) {
        const std::string found = shown(source);
        if (expected == "expected") {
            EXPECT_NE(found.find("expected a name"), std::string::npos) << found;
        } else {
            EXPECT_EQ(found, expected) << source;
        }
    }
}

TEST(Renderer, TakesDataWithoutAStruct) {
    const std::vector<Person> authors = {{"Ada", std::nullopt}};
    const Map page = {{"title", "T"},
                      {"count", 3},
                      {"huge", std::numeric_limits<std::uint64_t>::max()},
                      {"ratio", 0.5},
                      {"flag", true},
                      {"empty", nullptr},
                      {"maybe", std::optional<int>()},
                      {"list", List{1, "two", Map{{"a", 3}}}},
                      {"nested", Map{{"deep", Map{{"er", "x"}}}}},
                      {"authors", Value::view(authors)}};
    EXPECT_EQ(
        shown("{{ title }}{{ count }}{{ ratio }}{{ flag }}[{{ empty }}][{{ maybe }}]{{ huge }}",
              page),
        "T30.5true[][]18446744073709551616");
    EXPECT_EQ(shown("{{ nested.deep.er }}{% for a in authors %}{{ a.name }}{% endfor %}", page),
              "xAda");
    EXPECT_EQ(shown("{% for v in list %}{% if loop.last %}{{ v.a }}{% else %}{{ v }}{% endif %}{% "
                    "endfor %}",
                    page),
              "1two3");
    Value moved = Value(List{1});
    const Value taken = std::move(moved);
    EXPECT_EQ(shown("[{{ v }}]", Map{{"v", moved}}), "[]");
    EXPECT_EQ(shown("{{ v | length }}", Map{{"v", taken}}), "1");
}

TEST(Renderer, AppendsToWhatIsThere) {
    const auto made = Template::compile("t", "{{ title }}{% for t in tags %}{{ t }}{% endfor %}");
    ASSERT_TRUE(made);
    std::string out = "a";
    ASSERT_TRUE(made->render(out, Note{}));
    EXPECT_EQ(out, "aTidesseamoonwind");
}

// Pieces that fill the room to the last byte, and escaped ones, which are written another way.
TEST(Renderer, WritesPagesOfAnyLength) {
    const auto made = Template::compile("t", "<p>{% for t in tags %}{{ t }};{% endfor %}</p>");
    ASSERT_TRUE(made);
    for (std::size_t size = 1; size < 2'100; size += 1 + size / 64) {
        Note note;
        note.tags.assign(9, std::string(size, 'a'));
        note.tags[4] = "<" + note.tags[4];
        note.tags[8] += "&";
        std::string expected = "before<p>";
        for (const std::string& tag : note.tags) {
            if (tag.starts_with('<')) expected += "&lt;";
            expected += std::string(size, 'a');
            if (tag.ends_with('&')) expected += "&amp;";
            expected += ";";
        }
        std::string out = "before";
        ASSERT_TRUE(made->render(out, note));
        ASSERT_EQ(out, expected + "</p>") << size;
    }
}

// Short ones are copied with what is behind them, and the last ones have nothing behind them.
TEST(Renderer, WritesPartsOfAnyLength) {
    std::string source;
    std::string expected;
    for (std::size_t length = 0; length <= 130; ++length) {
        const std::string part(length, static_cast<char>('a' + length % 26));
        source += part + "{{ title }}";
        expected += part + "Tides";
        ASSERT_EQ(shown(source), expected) << length;
        ASSERT_EQ(shown(source + part), expected + part) << length;
    }
}

TEST(Renderer, LeavesTheTextAsItWasWhereAFilterThrows) {
    Options options;
    options.filter("fail", [](std::string&, std::string_view, auto) { throw std::bad_alloc(); });
    const auto made = Template::compile("t", "<p>{{ title | fail }}</p>", std::move(options));
    ASSERT_TRUE(made);
    std::string out = "before";
    EXPECT_THROW((void)made->render(out, Note{}), std::bad_alloc);
    EXPECT_EQ(out, "before");
}

#ifndef TIDERACE_SANITIZED
TEST(Renderer, AllocatesNothingForAValue) {
    const auto made = Template::compile(
        "t",
        "<a href=\"{{ title }}\" title=\"{{ summary }}\">{{ author.name }} {{ big }} {{ price "
        "}}</a>"
        "{% for t in tags %}{% if t != \"sea\" and loop.index > 1 %}{{ t }}{% endif %}{% endfor %}"
        "<script>f({{ tags }}, '{{ summary }}')</script>");
    ASSERT_TRUE(made) << made.error().message();
    const Note note;
    std::string out;
    out.reserve(4'096);
    ASSERT_TRUE(made->render(out, note)) << "the first page of a type finds its members";
    out.clear();
    const std::size_t before = allocations;
    const bool done = made->render(out, note).has_value();
    EXPECT_EQ(allocations - before, 0u);
    EXPECT_TRUE(done);
}
#endif

}  // namespace
}  // namespace tiderace::text
