#include "server/config/route_reader.h"

#include <gtest/gtest.h>

#include "server/config/config_fixture.h"
#include "server/config/toml.h"
#include "tiderace/http/route/regex.h"

namespace tiderace::server::config {
namespace {

class RouteReaderTest : public ::testing::Test {
  protected:
    // The matches of one route.
    std::vector<RouteReader::Found> read(const std::string& text) {
        const Table table = parse_toml(sources_, sources_.add({"a.toml", text}), problems_);
        return RouteReader(reading_).read_matches({}, table);
    }

    Memory memory_;
    DocumentWorld world_ = memory_.world();
    Sources sources_;
    Problems problems_;
    Reading reading_{sources_, problems_, world_};
};

TEST_F(RouteReaderTest, EachPathIsARouteOfItsOwn) {
    const auto found = read("path = [\"/a\", \"=/\", \"/\", \"**/x\"]\nmethod = \"GET\"\n");
    ASSERT_EQ(found.size(), 4U);
    const char* const paths[] = {"/a", "=/", "", "**/x"};
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].match.path, paths[i]);
        EXPECT_EQ(found[i].match.methods.size(), 1U);
    }
    EXPECT_EQ(read("method = \"GET\"\n").size(), 1U) << "all paths";
    EXPECT_EQ(problems_.text(sources_), "");
}

TEST_F(RouteReaderTest, ARegularExpressionBelongsToItsPathAlone) {
    if (!http::route::has_regexes()) GTEST_SKIP() << "this build is without PCRE2";
    const auto found = read("path = ['~^/a\\.(b)$', \"*.x\", \"/~a\"]\n");
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].match.path, "~^/a\\.(b)$");
    EXPECT_TRUE(found[0].match.path_holds("/a.b"));
    EXPECT_EQ(found[1].match.regex, nullptr);
    EXPECT_EQ(found[2].match.kind(), http::RouteMatch::Kind::below);
    // The same again, as after a reload.
    EXPECT_EQ(read("path = '~^/a\\.(b)$'\n")[0].match, found[0].match);
}

TEST_F(RouteReaderTest, AFaultOfAnExpressionIsMarkedWhereItIs) {
    if (!http::route::has_regexes()) {
        EXPECT_TRUE(read("path = '~^/a'\n").empty());
        EXPECT_NE(problems_.text(sources_).find("without PCRE2"), std::string::npos);
        return;
    }
    struct Case {
        const char* line;
        std::uint32_t column;
    };
    constexpr Case cases[] = {
        {"path = '~^/a[0-'", 16},       {"path = \"~^/a[0-\"", 16},   {"path = \"~^/\\\\.a(\"", 17},
        {"path = \"~^/\\u00e9(\"", 19}, {"path = '~^/é('", 14},       {"path = ['/x', '~(']", 18},
        {"path = '~(*UTF)é'", 16},      {"path = \"\"\"~(\"\"\"", 8}, {"path = \"\\u007e(\"", 16},
    };
    for (const Case& each : cases) {
        Problems problems;
        const Table table = parse_toml(sources_, sources_.add({"a.toml", each.line}), problems);
        RouteReader({sources_, problems, world_}).read_matches({}, table);
        ASSERT_EQ(problems.errors(), 1U) << each.line;
        EXPECT_EQ(problems.sorted()[0].at.column, each.column) << problems.text(sources_);
    }
}

TEST_F(RouteReaderTest, ARouteThatANearerOneAlwaysAnswersForIsReported) {
    const auto warnings = [&](std::vector<http::RouteMatch> matches) {
        const std::size_t before = problems_.warnings();
        RouteReader reader(reading_);
        std::vector<Route> routes;
        for (http::RouteMatch& match : matches) {
            routes.push_back({.match = match, .reply = FixedReply{.status = 404}});
            reader.check_answered({std::move(match), {}}, routes.back());
        }
        reader.check_shadowed(routes);
        return problems_.warnings() - before;
    };
    EXPECT_EQ(warnings({{.path = "/a"}, {.path = "/a/b"}, {.path = "=/a"}, {.path = "*.x"}}), 0U);
    EXPECT_EQ(warnings({{.path = "**"}, {.path = "/a"}}), 1U);
    EXPECT_EQ(warnings({{.path = "/a", .priority = 1}, {.path = "/a/b"}, {.path = "/ab"}}), 1U);
    EXPECT_EQ(warnings({{.path = "/a", .priority = 1}, {.path = "/a/*.x"}, {.path = "/?"}}), 1U);
    EXPECT_EQ(warnings({{.path = "*.x", .priority = 1}, {.path = "=/a.x"}}), 1U);
    EXPECT_EQ(warnings({{.path = "**", .secure = true}, {.path = "/a"}}), 0U);
    if (http::route::has_regexes()) {
        const auto of = [](const std::string& text, int priority = 0) {
            return http::RouteMatch{.path = "~" + text,
                                    .priority = priority,
                                    .regex = *http::route::compile_regex(text)};
        };
        EXPECT_EQ(warnings({of("^/a/"), {.path = "/a/b"}, {.path = "/a"}, {.path = ""}}), 1U);
        EXPECT_EQ(warnings({of("^/"), {.path = "/a"}, {.path = ""}}), 2U);
        EXPECT_EQ(warnings({of("^/a$"), {.path = "/a"}, {.path = "/a/b"}}), 0U);
        EXPECT_EQ(warnings({of("^/a$", 1), {.path = "=/a"}, {.path = "/a"}}), 1U);
        EXPECT_EQ(warnings({of("^/a", 1), of("^/ab/[0-9]"), of("^/b"), {.path = "/ab/*.x"}}), 2U);
        EXPECT_EQ(warnings({of("^/a"), of("^/ab/[0-9]")}), 0U) << "one that denies counts first";
        EXPECT_EQ(warnings({{.path = "/a", .priority = 1}, of("^/a/[0-9]"), of("^/a")}), 1U);
    }
    EXPECT_EQ(problems_.errors(), 0U);
}

TEST_F(RouteReaderTest, ScriptsThatRunBelowAClosedPathAreReported) {
    const auto warnings = [&](http::RouteMatch scripts, http::RouteMatch closed) {
        const std::size_t before = problems_.warnings();
        RouteReader reader(reading_);
        const std::vector<Route> routes{
            {.match = closed, .reply = FixedReply{.status = 404}},
            {.match = scripts, .fastcgi = *core::Address::parse("127.0.0.1:9")}};
        for (const Route& route : routes) reader.check_answered({route.match, {}}, route);
        reader.check_shadowed(routes);
        return problems_.warnings() - before;
    };
    EXPECT_EQ(warnings({.path = "*.php"}, {.path = "/a"}), 1U);
    EXPECT_NE(problems_.text(sources_).find("priority = 1 puts"), std::string::npos);
    EXPECT_EQ(warnings({.path = "*.php", .secure = true}, {.path = "", .secure = false}), 1U);
    EXPECT_EQ(warnings({.path = "/a/b/*.php"}, {.path = "/a"}), 1U);
    EXPECT_EQ(warnings({.path = "/*/b/*.php"}, {.path = "/a"}), 1U);
    EXPECT_EQ(warnings({.path = "*/b.php"}, {.path = "/a"}), 1U);
    EXPECT_EQ(warnings({.path = "/ab/*.php"}, {.path = "/a"}), 0U);
    EXPECT_EQ(warnings({.path = "/b/*.php"}, {.path = "/a"}), 0U);
    EXPECT_EQ(warnings({.path = "*.php"}, {.path = "/a", .priority = 1}), 0U);
    EXPECT_EQ(warnings({.path = "*.php"}, {.path = "=/a.php"}), 0U);
    EXPECT_EQ(warnings({.path = "*.php"}, {.path = "/.git"}), 0U) << "hidden names do not run";
    EXPECT_EQ(warnings({.path = "*.php"}, {.path = "/a/*"}), 0U) << "of patterns it comes first";
    EXPECT_EQ(warnings({.path = "/app"}, {.path = "/"}), 0U) << "a path is meant";
}

}  // namespace
}  // namespace tiderace::server::config
