#include "server/config/route_reader.h"

#include <gtest/gtest.h>

#include "server/config/config_fixture.h"
#include "server/config/toml.h"

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
    EXPECT_EQ(problems_.errors(), 0U);
}

}  // namespace
}  // namespace tiderace::server::config
