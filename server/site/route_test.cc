#include "server/site/route.h"

#include <gtest/gtest.h>

#include "server/options.h"

namespace tiderace::server {
namespace {

TEST(Route, NoPathHasSettingsUnlessGiven) {
    const ServeOptions options;
    EXPECT_TRUE(options.routes.empty());
    EXPECT_FALSE(options.whole.auth || options.whole.rate || options.whole.reply);
}

TEST(Route, OneIsFoundByItsWholeMatch) {
    std::vector<Route> routes;
    route_of(routes, {.path = "/a"}).log = "a";
    route_of(routes, {.path = "/a", .priority = 1}).log = "b";
    EXPECT_EQ(routes.size(), 2U);
    EXPECT_EQ(route_of(routes, {.path = "/a"}).log, "a");
    EXPECT_EQ(routes.size(), 2U);
}

TEST(Route, ByPathStandsWhatThePathAloneDecides) {
    std::vector<Route> routes;
    route_of(routes, {.path = "/a"});
    route_of(routes, {.path = "/a/b", .secure = true});
    route_of(routes, {.path = "*.x"});
    const std::vector<const Route*> sorted = routes_by_path(routes);
    ASSERT_EQ(sorted.size(), 2U);
    EXPECT_EQ(sorted[0]->match.path, "*.x");
    EXPECT_EQ(sorted[1]->match.path, "/a");
}

}  // namespace
}  // namespace tiderace::server
