#include "server/config/site_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "server/config/config_fixture.h"
#include "server/config/toml.h"

namespace tiderace::server::config {
namespace {

class SiteReaderTest : public ::testing::Test {
  protected:
    SiteReaderTest() { memory_.files["/etc/staff"] = ""; }
    // The only site of the text.
    SiteConfig read(const std::string& text) {
        top_ = parse_toml(sources_, sources_.add({"a.toml", text}), problems_);
        SiteReader reader(top_, server_, reading_);
        const Value& site = top_.find("site")->value.get<Array>()->front();
        SiteConfig config = reader.read(site.at, *site.get<Table>());
        EXPECT_EQ(problems_.text(sources_), "");
        return config;
    }

    Memory memory_;
    DocumentWorld world_ = memory_.world();
    Sources sources_;
    Problems problems_;
    Reading reading_{sources_, problems_, world_};
    Table top_;
    ServeOptions server_;
};

TEST_F(SiteReaderTest, HostsAreAsRequestsHaveThem) {
    const SiteConfig site = read("[[site]]\nhosts = [\"WWW.Example.org.\", \"*.a.example\"]\n");
    EXPECT_EQ(site.hosts, (std::vector<std::string>{"www.example.org", "*.a.example"}));
    EXPECT_FALSE(site.is_default);
    EXPECT_TRUE(read("[[site]]\nroot = \"/srv/www\"\n").is_default) << "it has no hosts";
}

TEST_F(SiteReaderTest, RoutesAreRulesOfTheirPath) {
    const SiteConfig site = read(R"(
[[site]]
root = "/srv/www"
cache_control = "no-cache"
auth = { users = "/etc/staff" }
[[site.route]]
path = ["/a=b", "=/c"]
auth = "off"
rate = { limit = "5/s", burst = 7 }
response.set.X-A = "1"
log = "off"
[[site.route]]
path = "/assets"
cache_control = "immutable"
)");
    EXPECT_EQ(site.options.whole.auth, std::vector<std::string>{"/etc/staff"});
    const std::vector<Route>& routes = site.options.routes;
    ASSERT_EQ(routes.size(), 3U);
    EXPECT_EQ(routes[0].match.path, "/a=b");
    EXPECT_EQ(routes[1].match.path, "=/c");
    for (const std::size_t i : {0, 1}) {
        EXPECT_EQ(routes[i].auth, std::vector<std::string>{});
        EXPECT_EQ(routes[i].rate->limit->per_minute, 300U);
        EXPECT_EQ(routes[i].rate->limit->burst, 7U);
        EXPECT_EQ(routes[i].headers.size(), 1U);
        EXPECT_EQ(routes[i].log, "off");
    }
    EXPECT_EQ(routes[2].cache_control, "immutable");
    ASSERT_EQ(site.options.cache_control.size(), 1U);
    EXPECT_EQ(site.options.cache_control[0].pattern, "*");
    EXPECT_EQ(site.routes, 2U);
}

TEST_F(SiteReaderTest, AnswersTakeThePlaceOfFiles) {
    const SiteConfig site = read(R"(
[[site]]
root = "/srv/www"
route = [
  { path = "/old", redirect = "/new{rest}" },
  { path = "=/feed", redirect = "/feed.xml", status = 301 },
  { path = "/health", respond = "fine\n" },
  { path = "/secret", deny = true },
  { path = "/gone", status = 410 },
  { path = "/maybe", deny = false },
]
)");
    const std::vector<Route>& routes = site.options.routes;
    ASSERT_EQ(routes.size(), 6U);
    EXPECT_EQ(routes[0].reply->status, 308);
    EXPECT_EQ(routes[0].reply->target, "/new{rest}");
    EXPECT_EQ(routes[1].reply->status, 301);
    EXPECT_EQ(routes[1].match.path, "=/feed");
    EXPECT_EQ(routes[2].reply->text, "fine\n");
    EXPECT_EQ(routes[2].reply->status, 200);
    EXPECT_EQ(routes[3].reply->status, 404);
    EXPECT_EQ(routes[4].reply->status, 410);
    EXPECT_FALSE(routes[5].reply);
}

TEST_F(SiteReaderTest, ARouteHasConditionsBesideItsPath) {
    const SiteConfig site = read(R"(
[[site]]
root = "/srv/www"
[[site.route]]
path = ["*.bak", "/a%20b/"]
method = ["POST", "PUT"]
header = { X-A = "1*", X-B = true }
query.v = false
remote = ["10.0.0.0/8", "::1"]
scheme = "https"
priority = -2
deny = true
[[site.route]]
method = "GET"
log = "off"
)");
    const std::vector<Route>& routes = site.options.routes;
    ASSERT_EQ(routes.size(), 3U);
    const http::RouteMatch& match = routes[1].match;
    EXPECT_EQ(routes[0].match.path, "*.bak");
    EXPECT_EQ(match.path, "/a b") << "as requests have it";
    EXPECT_EQ(match.methods, (std::vector{http::wire::Method::post, http::wire::Method::put}));
    ASSERT_EQ(match.header.size(), 2U);
    EXPECT_EQ(match.header[0].value, "1*");
    EXPECT_FALSE(match.header[1].value || match.header[1].is_absent);
    EXPECT_TRUE(match.query.at(0).is_absent);
    EXPECT_EQ(match.remote.size(), 2U);
    EXPECT_EQ(match.secure, true);
    EXPECT_EQ(match.priority, -2);
    EXPECT_EQ(match.conditions(), 6U);
    EXPECT_EQ(routes[2].match.path, "");
}

TEST_F(SiteReaderTest, WhatASiteSaysStandsAboveItsPresets) {
    const SiteConfig site = read(R"(
[preset.hidden]
hidden = true
listing = true
[[site]]
use = ["hidden"]
root = "/srv/www"
listing = false
)");
    EXPECT_TRUE(site.options.hidden_files);
    EXPECT_EQ(site.options.listing, false);
}

TEST_F(SiteReaderTest, UsersMayStandInTheFile) {
    const SiteConfig site = read(R"(
[users.staff]
ann = "a=b:c"
[[site]]
auth = { users = "staff" }
)");
    EXPECT_EQ(site.options.whole.auth, std::vector<std::string>{"ann:a=b:c"});
}

TEST_F(SiteReaderTest, APresetThatNobodyUsesIsCheckedAllTheSame) {
    top_ = parse_toml(sources_, sources_.add({"a.toml", R"(
[preset.a]
hosts = ["a.example"]
idnex = ["a.html"]
redirect = "/x"
)"}),
                      problems_);
    SiteReader reader(top_, server_, reading_);
    EXPECT_EQ(problems_.errors(), 2U) << problems_.text(sources_);
}

}  // namespace
}  // namespace tiderace::server::config
