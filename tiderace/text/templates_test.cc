#include "tiderace/text/templates.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tiderace::text {
namespace {

class MapLoader : public Loader {
  public:
    std::optional<std::string> load(std::string_view name) override {
        ++asked;
        const auto found = texts.find(name);
        if (found == texts.end()) return std::nullopt;
        return found->second;
    }
    std::map<std::string, std::string, std::less<>> texts;
    int asked = 0;
};

struct Page {
    std::string title;
};

std::string render(const Templates& set, std::string_view name) {
    std::string out;
    const auto done = set.render(out, name, Page{"T"});
    return done ? out : done.error().problem;
}
std::string first_fault(const std::expected<void, Faults>& done) {
    return done ? "none" : done.error().front().problem;
}

TEST(Templates, PutBlocksIntoLayouts) {
    Templates set;
    ASSERT_TRUE(set.add("outer", "[{% block a %}a{% endblock %}|{% block b %}b{% endblock b %}]"));
    ASSERT_TRUE(
        set.add("middle",
                "{# c #} {% extends 'outer' %}{% block a %}A({% block c %}c{% endblock %}){% "
                "endblock %}"));
    ASSERT_TRUE(set.add("inner", "{% extends 'middle' %}{% block c %}{{ title }}{% endblock %}"));
    EXPECT_EQ(render(set, "outer"), "[a|b]");
    EXPECT_EQ(render(set, "middle"), "[A(c)|b]");
    EXPECT_EQ(render(set, "inner"), "[A(T)|b]");
}

TEST(Templates, EscapeForThePlaceThatAnIncludeStandsIn) {
    Templates set;
    ASSERT_TRUE(set.add("title", "{{ title }}"));
    ASSERT_TRUE(set.add("page", "<script>f({% include 'title' %})</script>{% include 'title' %}"));
    std::string out;
    ASSERT_TRUE(set.render(out, "page", Page{"<"}));
    EXPECT_EQ(out, "<script>f(\"\\u003C\")</script>&lt;");
    EXPECT_FALSE(set.add("page", "<p id={% include 'title' %}>"));
}

TEST(Templates, SeeTheVariablesAroundAnInclude) {
    Templates set;
    ASSERT_TRUE(set.add("item", "{{ item }} "));
    ASSERT_TRUE(set.add("list", "{% for item in items %}{% include 'item' %}{% endfor %}"));
    std::string out;
    ASSERT_TRUE(set.render(out, "list", Map{{"items", List{"a", "b"}}}));
    EXPECT_EQ(out, "a b ");
}

TEST(Templates, RefuseToIncludeOrExtendThemselves) {
    Templates set;
    EXPECT_EQ(first_fault(set.add("self", "{% include 'self' %}")), "\"self\" includes itself");
    EXPECT_EQ(first_fault(set.add("me", "{% extends 'me' %}")), "\"me\" extends itself");
    Templates pair;
    EXPECT_EQ(first_fault(pair.add("a", "{% include 'b' %}")), "no template \"b\"");
    EXPECT_EQ(first_fault(pair.add("b", "x{% include 'a' %}")), "\"a\" includes itself");
    Templates layouts;
    EXPECT_FALSE(layouts.add("x", "{% extends 'y' %}"));
    EXPECT_EQ(first_fault(layouts.add("y", "{% extends 'x' %}")), "\"x\" extends itself");
    Templates mixed;
    ASSERT_TRUE(mixed.add("layout", "{% block a %}{% endblock %}"));
    ASSERT_TRUE(mixed.add("page", "{% extends 'layout' %}"));
    EXPECT_EQ(first_fault(mixed.add("other", "{% include 'page' %}")),
              "\"page\" extends a layout, and cannot be included");
}

TEST(Templates, BoundTheDepthAndTheSizeOfIncludes) {
    Templates deep({.limits = {.include_depth_max = 4}});
    ASSERT_TRUE(deep.add("t0", "x"));
    for (int i = 1; i <= 4; ++i) {
        ASSERT_TRUE(
            deep.add("t" + std::to_string(i), "{% include 't" + std::to_string(i - 1) + "' %}"))
            << i;
    }
    EXPECT_EQ(first_fault(deep.add("t5", "{% include 't4' %}")),
              "includes deeper than include_depth_max (4)");
    Templates wide;
    ASSERT_TRUE(wide.add("w0", ""));
    std::string text;
    for (int i = 1; i < 4; ++i) {
        text.clear();
        for (int j = 0; j < 60; ++j) text += "{% include 'w" + std::to_string(i - 1) + "' %}";
        const auto added = wide.add("w" + std::to_string(i), text);
        EXPECT_EQ(added.has_value(), i < 3);
        if (i == 3) {
            EXPECT_EQ(first_fault(added),
                      "the template with its includes has more parts than nodes_max (100000)");
        }
    }
}

TEST(Templates, KeepTheLastGoodVersionOfABrokenOne) {
    Templates set;
    ASSERT_TRUE(set.add("layout", "[{% block a %}{% endblock %}]"));
    ASSERT_TRUE(set.add("page", "{% extends 'layout' %}{% block a %}{{ title }}{% endblock %}"));
    ASSERT_TRUE(set.check<Page>("page"));
    EXPECT_EQ(first_fault(set.add("layout", "({% block a %}{% endblock %}){% if %}")),
              "expected a name, a number, a text or \"(\", found \"%}\"");
    EXPECT_EQ(render(set, "page"), "[T]");
    EXPECT_EQ(render(set, "layout"), "[]");
    ASSERT_TRUE(set.add("layout", "({% block a %}{% endblock %})"));
    EXPECT_EQ(render(set, "page"), "(T)");
    // A template that was checked once is checked again.
    EXPECT_EQ(first_fault(set.add("page", "{{ titel }}")), "no \"titel\"; Page has title");
    EXPECT_EQ(render(set, "page"), "(T)");
    EXPECT_EQ(set.check<Page>("absent").error().message(), "absent: no such template");
    EXPECT_EQ(render(set, "absent"), "no such template");
}

// The members that a check has found belong to its type alone.
template <int number>
struct Numbered {
    std::string title = "Tides";
    std::optional<Page> page = Page{std::to_string(number)};
    std::vector<Page> pages = {{"low"}, {"high"}};
};

// More types than the set keeps the members of, each more than once.
TEST(Templates, RenderAnyNumberOfTypesThatWereNotChecked) {
    Templates set;
    ASSERT_TRUE(set.add("t",
                        "{{ title }} {{ page.title }}{% for p in pages %} {{ p.title }}"
                        "{% endfor %}"));
    const auto shown = [&](const auto& value) {
        std::string out;
        const auto done = set.render(out, "t", value);
        return done ? out : done.error().problem;
    };
    const auto show_one = [&]<int n>(std::integral_constant<int, n>) {
        EXPECT_EQ(shown(Numbered<n>{}), "Tides " + std::to_string(n) + " low high");
        EXPECT_EQ(shown(Numbered<n>{.page = {}}), "Tides  low high");
    };
    const auto show = [&]<int... n>(std::integer_sequence<int, n...>) {
        (show_one(std::integral_constant<int, n>()), ...);
    };
    show(std::make_integer_sequence<int, 20>());
    show(std::make_integer_sequence<int, 20>());
    ASSERT_TRUE(set.add("t", "{{ page.title }}"));
    EXPECT_EQ(shown(Numbered<1>{}), "1") << "of the new version";
}

// The first pages of a type may be rendered by several loops at once.
TEST(Templates, RenderATypeThatWasNotCheckedOnManyThreads) {
    for (int round = 0; round < 20; ++round) {
        Templates set;
        ASSERT_TRUE(set.add("t", "{{ page.title }}"));
        std::atomic<int> wrong = 0;
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (int page = 0; page < 20; ++page) {
                    std::string one;
                    std::string two;
                    const bool done = set.render(one, "t", Numbered<1>{}).has_value() &&
                                      set.render(two, "t", Numbered<2>{}).has_value();
                    if (!done || one != "1" || two != "2") ++wrong;
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(wrong, 0);
    }
}

TEST(Templates, RenderATypeOtherThanTheCheckedOne) {
    struct Post {
        std::string author;
        std::string title;
    };
    struct Backwards {
        std::string title;
        int likes;
        std::string author;
    };
    Templates set;
    ASSERT_TRUE(set.add("post", "{{ title }} by {{ author }}"));
    const auto shown = [&](const auto& value) {
        std::string out;
        const auto done = set.render(out, "post", value);
        return done ? out : done.error().problem;
    };
    ASSERT_TRUE(set.check<Post>("post"));
    EXPECT_EQ(shown(Post{"Ada", "Tides"}), "Tides by Ada");
    EXPECT_EQ(shown(Backwards{"Tides", 3, "Ada"}), "Tides by Ada");
    EXPECT_EQ(shown(Map{{"title", "Tides"}, {"author", "Ada"}}), "Tides by Ada");
    EXPECT_EQ(shown(Page{"Tides"}), "no \"author\"; Page has title");
    ASSERT_TRUE(set.check<Backwards>("post"));
    EXPECT_EQ(shown(Post{"Ada", "Tides"}), "Tides by Ada");
    EXPECT_EQ(shown(Backwards{"Tides", 3, "Ada"}), "Tides by Ada");
}

TEST(Templates, WaitForWhatIsAddedLater) {
    Templates set;
    EXPECT_EQ(first_fault(set.add("page", "{% include 'part' %}")), "no template \"part\"");
    EXPECT_FALSE(set.has("page"));
    ASSERT_TRUE(set.add("part", "{{ title }}"));
    EXPECT_EQ(render(set, "page"), "T");
}

TEST(Templates, ComeFromALoaderAndAreReloaded) {
    MapLoader loader;
    loader.texts = {{"page", "{% include 'part' %}"}, {"part", "1{{ title }}"}};
    Templates set({.loader = &loader});
    ASSERT_TRUE(set.load("page"));
    EXPECT_EQ(first_fault(set.load("absent")), "no such template");
    EXPECT_EQ(render(set, "page"), "1T");
    loader.texts["part"] = "2{{ title }}";
    EXPECT_EQ(render(set, "page"), "1T");
    ASSERT_TRUE(set.reload());
    EXPECT_EQ(render(set, "page"), "2T");
    loader.texts["part"] = "3{{ title ";
    const auto broken = set.reload();
    ASSERT_FALSE(broken);
    ASSERT_EQ(broken.error().size(), 1u);
    EXPECT_EQ(
        broken.error()[0].message(),
        "part:1:11: expected \"}}\", found the end of the template\n  3{{ title \n            ^");
    EXPECT_EQ(render(set, "page"), "2T");
    loader.texts.erase("part");
    EXPECT_EQ(first_fault(set.reload()), "the template is gone; its last version stays");
    EXPECT_EQ(render(set, "page"), "2T");
    loader.texts["part"] = "4";
    ASSERT_TRUE(set.reload());
    EXPECT_EQ(render(set, "page"), "4");
}

TEST(Templates, HaveFiltersOfTheUsersOwn) {
    Options options;
    options
        .filter(
            "between",
            [](std::string& out, std::string_view text, std::span<const std::string_view> words) {
                out += words[0];
                out += text;
                out += words[1];
            },
            2)
        .filter("upper", [](std::string& out, std::string_view text, auto) {
            out += "my ";
            out += text;
        });
    auto made = Template::compile("t", "{{ title | between: '<', 2 | upper }}", options);
    ASSERT_TRUE(made) << made.error().message();
    std::string out;
    ASSERT_TRUE(made->render(out, Page{"T"}));
    EXPECT_EQ(out, "my &lt;T2");
}

}  // namespace
}  // namespace tiderace::text
