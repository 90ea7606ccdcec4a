#include "tiderace/text/specialise.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/template.h"

namespace tiderace::text {
namespace {

struct SiteWords {
    std::string like;
    std::string link = {};
    SafeHtml html = SafeHtml("<b>!</b>");
    std::vector<std::string> days = {"Mo", "Tu"};
    int year = 0;
};
struct SiteTheme {
    std::string colour;
};
struct SiteFrame {
    const SiteWords* words = nullptr;
    const SiteTheme* theme = nullptr;
};
struct SitePage {
    SiteFrame frame;
    std::string name = {};
    bool shown = false;
    std::vector<SiteFrame> items = {};
};

const SiteWords english = {.like = "Like <it>", .link = "javascript:x", .year = 2026};
const SiteWords german = {.like = "M\xC3\xB6gen & mehr", .link = "/de?a=1&b"};
const SiteTheme dark = {"black"};

Templates set_of(std::string_view source, std::vector<Constant> constants = {english, german}) {
    Templates set({.constants = std::move(constants)});
    const auto added = set.add("page", std::string(source));
    EXPECT_TRUE(added) << added.error().front().message();
    return set;
}
std::string shown_by(const Templates& set, const auto& value) {
    std::string out;
    const auto done = set.render(out, "page", value);
    return done ? out : done.error().problem;
}
// The page with constants, checked and not, which has to be the page without.
std::string same_page(std::string_view source, const SitePage& page) {
    const std::string expected = shown_by(set_of(source, {}), page);
    Templates set = set_of(source);
    EXPECT_EQ(shown_by(set, page), expected);
    EXPECT_TRUE(set.check<SitePage>("page"));
    EXPECT_EQ(shown_by(set, page), expected);
    return expected;
}

TEST(Specialise, ShowsWhatTheTemplateShowsWithoutConstants) {
    constexpr std::string_view source =
        "<p>{{ frame.words.like }} {{ name }}</p><a href='{{ frame.words.link }}'>"
        "{{ frame.words.like | upper }}{{ frame.words.html | safe }}</a>"
        "<a href='/?q={{ frame.words.like }}'></a>"
        "<script>f({{ frame.words.days }}, '{{ frame.words.like }}', {{ name }})</script>";
    EXPECT_EQ(same_page(source, {.frame = {&english}, .name = "<a>"}),
              "<p>Like &lt;it&gt; &lt;a&gt;</p><a href='#blocked'>LIKE &lt;IT&gt;<b>!</b></a>"
              "<a href='/?q=Like%20%3Cit%3E'></a>"
              "<script>f([\"Mo\",\"Tu\"], 'Like \\u003Cit\\u003E', \"\\u003Ca\\u003E\")</script>");
    EXPECT_EQ(same_page("{{ frame.words.like }}<a href='{{ frame.words.link }}'></a>",
                        {.frame = {&german}}),
              "M\xC3\xB6gen &amp; mehr<a href='/de?a=1&amp;b'></a>");
}

TEST(Specialise, LeavesValuesThatLeadElsewhere) {
    const SiteWords other = {.like = "other"};
    EXPECT_EQ(same_page("[{{ frame.words.like }}]", {.frame = {&other}}), "[other]");
    EXPECT_EQ(same_page("[{{ frame.words.like }}]", {}), "[]");
    EXPECT_EQ(same_page("{% for item in items %}{{ item.words.like }}{{ frame.words.like }};"
                        "{% endfor %}",
                        {.frame = {&german}, .items = {{&other}, {&english}}}),
              "otherM\xC3\xB6gen &amp; mehr;Like &lt;it&gt;M\xC3\xB6gen &amp; mehr;");
}

TEST(Specialise, KeepsWhereJumpsAndLoopsGo) {
    constexpr std::string_view source =
        "{% if shown %}a{% else %}{{ frame.words.like }}{% endif %}{{ frame.words.year }}"
        "{% for item in items %}{{ frame.words.link }}{{ loop.index }}{% else %}none"
        "{% endfor %}{{ frame.words.link }}{% if frame.words.year == 2026 %}now{% endif %}z"
        "{% for day in frame.words.days %}{{ day }}{% if shown %}{{ frame.words.year }}{% endif %}"
        "{% endfor %}";
    const auto with = [&](const SiteWords& words, bool shown, std::size_t items) {
        return same_page(
            source, {.frame = {&words}, .shown = shown, .items = std::vector<SiteFrame>(items)});
    };
    EXPECT_EQ(with(english, true, 0), "a2026nonejavascript:xnowzMo2026Tu2026");
    EXPECT_EQ(with(english, false, 2),
              "Like &lt;it&gt;2026javascript:x1javascript:x2javascript:xnowzMoTu");
    // An empty text at the end of a branch moves nothing into the branch.
    const SiteWords empty = {};
    Templates set = set_of("{% if shown %}a{% endif %}{{ frame.words.like }}b", {empty});
    EXPECT_EQ(shown_by(set, SitePage{.frame = {&empty}}), "b");
    EXPECT_EQ(shown_by(set, SitePage{.frame = {&empty}, .shown = true}), "ab");
}

// What follows is seen by a constant that does change, which no program may do.
struct Changing {
    SiteWords words = {.like = "old", .link = "", .year = 1};
    SitePage page = {.frame = {&words, &dark}, .name = "n"};
};

TEST(Specialise, ReadsAConstantOnce) {
    Changing one;
    Templates set = set_of("{{ frame.words.like }}{{ name }}", {one.words});
    EXPECT_EQ(shown_by(set, one.page), "oldn");
    one.words.like = "new";
    one.page.name = "m";
    EXPECT_EQ(shown_by(set, one.page), "oldm");
    // From the check on its code is the checked one's.
    ASSERT_TRUE(set.check<SitePage>("page"));
    EXPECT_EQ(shown_by(set, one.page), "newm");
    one.words.like = "newest";
    EXPECT_EQ(shown_by(set, one.page), "newm");
    // A new version of the template reads it again.
    ASSERT_TRUE(set.add("page", "{{ frame.words.like }}!"));
    EXPECT_EQ(shown_by(set, one.page), "newest!");
}

TEST(Specialise, TakesThePointerThatATemplateShowsMostOf) {
    Changing one;
    SiteTheme theme = {"red"};
    one.page.frame.theme = &theme;
    Templates set = set_of("{{ frame.theme.colour }}{{ frame.words.like }}{{ frame.words.year }}",
                           {theme, one.words});
    EXPECT_EQ(shown_by(set, one.page), "redold1");
    theme.colour = "blue";
    one.words.like = "new";
    EXPECT_EQ(shown_by(set, one.page), "blueold1");
}

struct Holder {
    std::shared_ptr<const SitePage> page;
    std::optional<SiteFrame> frame;
};

TEST(Specialise, FollowsAnyKindOfPointer) {
    Changing one;
    Templates set = set_of("{{ page.frame.words.like }}", {one.words});
    const Holder holder = {std::make_shared<const SitePage>(one.page), std::nullopt};
    EXPECT_EQ(shown_by(set, holder), "old");
    one.words.like = "new";
    EXPECT_EQ(shown_by(set, holder), "old");
    EXPECT_EQ(shown_by(set, Holder{}), "");
    Templates by_optional = set_of("{{ frame.words.like }}", {one.words});
    EXPECT_EQ(shown_by(by_optional, Holder{nullptr, one.page.frame}), "new");
    one.words.like = "newest";
    EXPECT_EQ(shown_by(by_optional, Holder{nullptr, one.page.frame}), "new");
}

TEST(Specialise, LeavesFiltersOfUsersToEachPage) {
    int calls = 0;
    Options options{.constants = {english}};
    options.filter("count", [&calls](std::string& out, std::string_view text,
                                     std::span<const std::string_view>) {
        out += std::string(text) + std::to_string(++calls);
    });
    Templates set(std::move(options));
    ASSERT_TRUE(set.add("page", "{{ frame.words.year | count | upper }}{{ frame.words.year }}"));
    EXPECT_EQ(shown_by(set, SitePage{.frame = {&english}}), "202612026");
    EXPECT_EQ(shown_by(set, SitePage{.frame = {&english}}), "202622026");
}

TEST(Specialise, LeavesWhatCannotBeShownToThePage) {
    EXPECT_EQ(shown_by(set_of("a{{ frame.words.days }}"), SitePage{.frame = {&english}}),
              "a list has no text; go through it by {% for %}, or show one of its members");
    // A name that is not there ends the search for ways; those before it are known.
    EXPECT_EQ(shown_by(set_of("{{ frame.words.like }}{{ none }}"), SitePage{.frame = {&english}}),
              "no \"none\"; SitePage has frame, name, shown, items");
}

TEST(Specialise, BoundsTheOutput) {
    const SiteWords long_words = {.like = std::string(60, 'x')};
    const auto render_with = [&](std::string_view source) {
        Templates set({.limits = {.output_bytes_max = 100}, .constants = {long_words}});
        EXPECT_TRUE(set.add("page", std::string(source)));
        return shown_by(set, SitePage{.frame = {&long_words}, .items = std::vector<SiteFrame>(2)});
    };
    EXPECT_EQ(render_with("{{ frame.words.like }}").size(), 60u);
    EXPECT_EQ(render_with("{{ frame.words.like }}{{ frame.words.like }}"),
              "the output is longer than output_bytes_max (100)");
    EXPECT_EQ(render_with("{% for item in items %}{{ frame.words.like }}{% endfor %}"),
              "the output is longer than output_bytes_max (100)");
    EXPECT_EQ(render_with("{% if shown %}{{ frame.words.like }}{% else %}{{ frame.words.like }}b"
                          "{% endif %}")
                  .size(),
              61u);
}

}  // namespace
}  // namespace tiderace::text
