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
    const PathOptions& paths = site.options.paths;
    ASSERT_EQ(paths.auth.size(), 3U);
    EXPECT_EQ(paths.auth[0].prefix, "");
    EXPECT_EQ(paths.auth[0].source, "/etc/staff");
    EXPECT_EQ(paths.auth[1].prefix, "/a=b");
    EXPECT_EQ(paths.auth[2].prefix, "=/c");
    ASSERT_EQ(paths.rates.size(), 2U);
    EXPECT_EQ(paths.rates[0].limit->per_minute, 300U);
    EXPECT_EQ(paths.rates[0].limit->burst, 7U);
    EXPECT_EQ(paths.headers.size(), 2U);
    EXPECT_EQ(paths.logs.size(), 2U);
    ASSERT_EQ(site.options.cache_control.size(), 3U);
    EXPECT_EQ(site.options.cache_control[0].pattern, "/assets") << "the nearest is first";
    EXPECT_EQ(site.options.cache_control[1].pattern, "/assets/**");
    EXPECT_EQ(site.options.cache_control[2].pattern, "*");
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
    const std::vector<PathAnswer>& answers = site.options.paths.answers;
    ASSERT_EQ(answers.size(), 5U);
    EXPECT_TRUE(answers[0].keeps_rest && answers[0].status == 308 && answers[0].target == "/new");
    EXPECT_TRUE(!answers[1].keeps_rest && answers[1].status == 301);
    EXPECT_EQ(answers[1].prefix, "=/feed");
    EXPECT_EQ(answers[2].text, "fine\n");
    EXPECT_EQ(answers[2].status, 200);
    EXPECT_EQ(answers[3].status, 404);
    EXPECT_EQ(answers[4].status, 410);
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
    ASSERT_EQ(site.options.paths.auth.size(), 1U);
    EXPECT_EQ(site.options.paths.auth[0].source, "ann:a=b:c");
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
