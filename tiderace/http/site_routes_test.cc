#include "tiderace/http/site_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <utility>

#include "tiderace/base/random.h"
#include "tiderace/http/route/regex.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http {
namespace {

using Fields = testing::RecordedExchange::Fields;

RouteMatch of_regex(const std::string& expression) {
    auto regex = route::compile_regex(expression);
    EXPECT_TRUE(regex) << expression;
    return {.path = "~" + expression, .regex = regex ? *regex : nullptr};
}

class SiteRoutesTest : public ::testing::Test {
  protected:
    // The numbers of the routes that hold, as they were given.
    std::string holding(const std::vector<RouteMatch>& matches, std::string_view path,
                        std::string_view method = "GET", Fields fields = {}) {
        std::vector<SiteRoutes::Route> routes;
        for (std::uint32_t i = 0; i < matches.size(); ++i) {
            routes.push_back({.match = matches[i], .scope = i});
        }
        const SiteRoutes compiled(std::move(routes));
        const auto exchange = core::make_ref<testing::RecordedExchange>(world_.loop(), method, path,
                                                                        std::move(fields));
        SiteRoutes::List found;
        const std::uint32_t list = compiled.find(exchange->request(), found);
        const SiteRoutes::List& all = list == SiteRoutes::none ? found : compiled.lists()[list];
        std::string text;
        for (const std::uint32_t number : all) {
            text += std::to_string(compiled.routes()[number].scope) + " ";
        }
        return text;
    }

    testing::FakeWorld world_;
};

TEST_F(SiteRoutesTest, PathsAloneThenGlobsThenTheLongestPath) {
    const std::vector<RouteMatch> matches{{.path = ""},      {.path = "/a"},
                                          {.path = "*.php"}, {.path = "=/a/x.php"},
                                          {.path = "/a/b"},  {.path = "/a/*.php"}};
    EXPECT_EQ(holding(matches, "/"), "0 ");
    EXPECT_EQ(holding(matches, "/a"), "1 0 ");
    EXPECT_EQ(holding(matches, "/a/"), "1 0 ");
    EXPECT_EQ(holding(matches, "/ab"), "0 ");
    EXPECT_EQ(holding(matches, "/a/b/c"), "4 1 0 ");
    EXPECT_EQ(holding(matches, "/a/x.php"), "3 2 5 1 0 ");
    EXPECT_EQ(holding(matches, "/a/x.php/info"), "2 5 1 0 ") << "below what a glob matches";
    EXPECT_EQ(holding(matches, "/a/b/x.php"), "2 4 1 0 ");
    EXPECT_EQ(holding(matches, "*"), "") << "no path";
}

TEST_F(SiteRoutesTest, RegularExpressionsStandAmongTheGlobs) {
    if (!route::has_regexes()) GTEST_SKIP() << "this build is without PCRE2";
    const std::vector<RouteMatch> matches{{.path = ""},      of_regex("^/a/[0-9]+$"),
                                          {.path = "/a/*"},  of_regex("\\.php$"),
                                          {.path = "=/a/1"}, {.path = "/a"}};
    EXPECT_EQ(holding(matches, "/a/1"), "4 1 2 5 0 ");
    EXPECT_EQ(holding(matches, "/a/12"), "1 2 5 0 ");
    EXPECT_EQ(holding(matches, "/a/12/x"), "2 5 0 ") << "nothing below, but what it matches";
    EXPECT_EQ(holding(matches, "/x.php"), "3 0 ");
    EXPECT_EQ(holding(matches, "/x"), "0 ");
}

TEST_F(SiteRoutesTest, AnExpressionThatGivesUpEndsTheSearch) {
    if (!route::has_regexes()) GTEST_SKIP() << "this build is without PCRE2";
    RouteMatch posts = of_regex("^/(a+)+$");
    posts.methods = {wire::Method::post};
    const SiteRoutes routes(
        {{.match = {.path = "=/aaa"}}, {.match = of_regex("^/b")}, {.match = posts}});
    const auto find = [&](std::string_view method, std::string_view path) {
        const auto exchange =
            core::make_ref<testing::RecordedExchange>(world_.loop(), method, path);
        SiteRoutes::List found;
        const std::uint32_t list = routes.find(exchange->request(), found);
        return std::pair(list, found);
    };
    const std::string slow = "/" + std::string(40, 'a') + "!";
    const auto [list, found] = find("POST", slow);
    ASSERT_EQ(list, SiteRoutes::gave_up);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(routes.routes()[found[0]].match.path, "~^/(a+)+$");
    EXPECT_NE(find("GET", slow).first, SiteRoutes::gave_up) << "its condition does not hold";
    EXPECT_EQ(find("POST", "/aaa").first, SiteRoutes::none);
}

TEST_F(SiteRoutesTest, TheNearestThatRefinesWhatAnswers) {
    const SiteRoutes routes({{.match = {.path = ""}, .endpoint = 1, .refines = SiteRoutes::base},
                             {.match = {.path = "/a"}, .endpoint = 2},
                             {.match = {.path = "/a/b"}, .endpoint = 3, .refines = 2},
                             {.match = {.path = "/a/b/c"}, .endpoint = 4, .refines = 2}});
    const auto endpoint = [&](std::string_view path) {
        const auto exchange = core::make_ref<testing::RecordedExchange>(world_.loop(), "GET", path);
        SiteRoutes::List found;
        const SiteRoutes::List& list = routes.lists()[routes.find(exchange->request(), found)];
        const SiteRoutes::Route* const refining = routes.refining(list, routes.answering(list));
        return refining != nullptr ? refining->endpoint : 0;
    };
    EXPECT_EQ(endpoint("/x"), 1U) << "the files of the site";
    EXPECT_EQ(endpoint("/a/x"), 0U);
    EXPECT_EQ(endpoint("/a/b"), 3U);
    EXPECT_EQ(endpoint("/a/b/c"), 4U);
}

TEST_F(SiteRoutesTest, APriorityStandsAboveTheOrder) {
    EXPECT_EQ(holding({{.path = "*.php"}, {.path = "/cgi", .priority = 1}, {.path = "=/cgi/x.php"}},
                      "/cgi/x.php"),
              "1 2 0 ");
    EXPECT_EQ(holding({{.path = "*.php", .priority = -1}, {.path = ""}}, "/x.php"), "1 0 ");
}

TEST_F(SiteRoutesTest, OfOnePathTheRouteWithMoreConditionsIsNearer) {
    using enum wire::Method;
    const std::vector<RouteMatch> matches{
        {.path = "/a"},
        {.path = "/a", .methods = {post, put}},
        {.path = "/a", .methods = {post}, .header = {{"X-A", "1*"}}},
        {.path = "*.x"},
        {.path = "*.y"},
        {.path = "*.x", .methods = {get}}};
    EXPECT_EQ(holding(matches, "/a", "GET"), "0 ");
    EXPECT_EQ(holding(matches, "/a", "PUT"), "1 0 ");
    EXPECT_EQ(holding(matches, "/a", "POST", {{"X-a", "123"}}), "2 1 0 ");
    EXPECT_EQ(holding(matches, "/a", "POST", {{"X-a", "213"}}), "1 0 ");
    EXPECT_EQ(holding(matches, "/a", "POST", {{"X-A", "2"}, {"X-A", "1"}}), "2 1 0 ");
    EXPECT_EQ(holding(matches, "/b.y/b.x", "HEAD"), "5 3 4 ") << "a HEAD is a GET";
    EXPECT_EQ(holding(matches, "/a", "OPTIONS",
                      {{"Origin", "https://a.example"}, {"Access-Control-Request-Method", "PUT"}}),
              "1 0 ")
        << "a browser's question about PUT";
}

// --- the same as 60 lines that look at every route ---------------------------------------------

bool naive_glob(std::string_view pattern, std::string_view text, bool at_segment = true) {
    if (pattern.empty()) return text.empty() || text[0] == '/';
    if (at_segment && pattern.starts_with("**/")) {
        const std::size_t slash = text.find('/');
        return naive_glob(pattern.substr(3), text) ||
               (slash != text.npos && naive_glob(pattern, text.substr(slash + 1)));
    }
    if (pattern.starts_with("**")) {
        return naive_glob(pattern.substr(2), text, false) ||
               (!text.empty() && naive_glob(pattern, text.substr(1), false));
    }
    const bool has_byte = !text.empty() && text[0] != '/';
    if (pattern[0] == '*') {
        return naive_glob(pattern.substr(1), text, false) ||
               (has_byte && naive_glob(pattern, text.substr(1), false));
    }
    if (text.empty() || (pattern[0] == '?' ? !has_byte : pattern[0] != text[0])) return false;
    return naive_glob(pattern.substr(1), text.substr(1), pattern[0] == '/');
}

bool naive_holds(const RouteMatch& match, std::string_view path, std::string_view method) {
    std::string_view rule = match.path;
    if (!match.methods.empty() && wire::to_string(match.methods[0]) != method) return false;
    if (rule.starts_with('=')) return rule.substr(1) == path;
    if (rule.starts_with('~'))
        return std::regex_search(std::string(path), std::regex(std::string(rule.substr(1))));
    if (rule.find_first_of("*?") == rule.npos) {
        return (std::string(path) + "/").starts_with(std::string(rule) + "/");
    }
    if (rule.contains('/')) return naive_glob(rule.substr(rule[0] == '/' ? 1 : 0), path.substr(1));
    for (std::size_t at = 0; at != path.npos; at = path.find('/', at + 1)) {
        const std::string_view segment = path.substr(at + 1);
        if (naive_glob(rule, segment.substr(0, segment.find('/')))) return true;
    }
    return false;
}

// Whether route a is nearer than route b.
bool naive_nearer(const std::vector<RouteMatch>& all, std::size_t a, std::size_t b) {
    const RouteMatch& one = all[a];
    const RouteMatch& other = all[b];
    const auto sort_of = [](const RouteMatch& match) {
        if (match.path.starts_with('=')) return 0;
        return match.path.find_first_of("~*?") == std::string::npos ? 2 : 1;
    };
    if (one.priority != other.priority) return one.priority > other.priority;
    if (sort_of(one) != sort_of(other)) return sort_of(one) < sort_of(other);
    if (one.path == other.path) {
        if (one.methods.size() != other.methods.size()) return !one.methods.empty();
        return a < b;
    }
    if (sort_of(one) == 2) return one.path.size() > other.path.size();
    const auto first = [&](const std::string& path) {
        return std::ranges::find(all, path, &RouteMatch::path) - all.begin();
    };
    return first(one.path) < first(other.path);
}

std::string naive_holding(const std::vector<RouteMatch>& all, std::string_view path,
                          std::string_view method) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (naive_holds(all[i], path, method)) found.push_back(i);
    }
    std::ranges::sort(found, [&](auto a, auto b) { return naive_nearer(all, a, b); });
    std::string text;
    for (const std::size_t i : found) text += std::to_string(i) + " ";
    return text;
}

TEST_F(SiteRoutesTest, IsAsTheNaiveMatcher) {
    Random random(7);
    const auto pick = [&](std::initializer_list<const char*> texts) {
        return std::string(texts.begin()[random.below(texts.size())]);
    };
    const auto path = [&] {
        std::string text;
        for (std::size_t i = random.below(4); i > 0; --i) {
            text += "/" + pick({"a", "b", "ab", "a.php", "b.php"});
        }
        return text;
    };
    for (int round = 0; round < 2'000; ++round) {
        std::vector<RouteMatch> all(random.below(12));
        for (RouteMatch& match : all) {
            match.path = path();
            const std::size_t sort = random.below(route::has_regexes() ? 5 : 4);
            if (sort == 1) match.path = match.path.empty() ? "=/" : "=" + match.path;
            if (sort == 2) match.path = pick({"*.php", "a*", "?", "*", "**"});
            if (sort == 3)
                match.path +=
                    pick({"/*", "/**", "/*.php", "/?b/**/a", "/**b/*", "/**/b", "/**/a/**/b"});
            if (sort == 4)
                match =
                    of_regex(pick({"^/a", "[ab]$", "/b/?$", "^(/a)+$", "\\.php(/|$)", "^/(?!a)"}));
            if (random.below(4) == 0) match.methods = {wire::Method::post};
            if (random.below(6) == 0) match.priority = static_cast<int>(random.below(3)) - 1;
        }
        for (int i = 0; i < 5; ++i) {
            const std::string at = path() + pick({"", "/"});
            const std::string target = at.empty() ? "/" : at;
            const std::string method = pick({"GET", "POST"});
            std::string given;
            for (const RouteMatch& match : all) given += match.path + "  ";
            ASSERT_EQ(holding(all, target, method), naive_holding(all, target, method))
                << target << " of " << given;
        }
    }
}

}  // namespace
}  // namespace tiderace::http
