#include "server/nginx/scope.h"

#include <gtest/gtest.h>

#include "server/config/config_fixture.h"

namespace tiderace::server::nginx {
namespace {

TEST(NginxScope, AKeyIsSetOnceAndAnAnswerReplacesTheFiles) {
    const config::Memory memory;
    const config::DocumentWorld world = memory.world();
    Surroundings around{.world = world, .folder = "/n/", .upstreams = {}};
    Scope site(config::TableKind::site, "", around);
    EXPECT_TRUE(site.take({.name = "root", .words = {"www"}, .file = {}, .block = {}}));
    EXPECT_EQ(site.root(), "/n/www");
    EXPECT_FALSE(site.set("root", "\"/b\""));
    EXPECT_EQ(site.text(), "root = \"/n/www\"\n");
    EXPECT_TRUE(site.take({.name = "return", .words = {"410"}, .file = {}, .block = {}}));
    EXPECT_FALSE(site.take({.name = "unheard_of", .words = {}, .file = {}, .block = {}}));
    site.finish(nullptr);
    EXPECT_EQ(site.text(), "status = 410\n");
    EXPECT_FALSE(around.has_dropped);
}

TEST(NginxScope, VariablesOfATarget) {
    const config::Memory memory;
    const config::DocumentWorld world = memory.world();
    Surroundings around{.world = world, .folder = {}, .upstreams = {}};
    Scope route(config::TableKind::route, "/a", around);
    EXPECT_EQ(route.target_of("/b$request_uri"), "/b/a{rest}");
    EXPECT_EQ(route.target_of("$scheme://x.example$request_uri"), "http://x.example/a{rest}");
    EXPECT_EQ(route.target_of("https://$host/"), std::nullopt) << "of many hosts";
    route.set_hosts({"a.example"});
    EXPECT_EQ(route.target_of("https://$host/"), "https://a.example/");
    EXPECT_EQ(route.target_of("b"), std::nullopt);
    const Scope alone(config::TableKind::route, "=/a", around);
    EXPECT_EQ(alone.target_of("https://x.example$request_uri"), "https://x.example/a");
}

}  // namespace
}  // namespace tiderace::server::nginx
