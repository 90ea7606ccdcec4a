#include "server/config/init_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/config.h"
#include "server/config/config_fixture.h"
#include "server/config/format.h"

namespace tiderace::server::config {
namespace {

using ::testing::ElementsAre;

Config taken(const Beginning& beginning) {
    Memory memory;
    memory.folders = {"/etc/www", "/etc/a.example", "/etc/b.example"};
    memory.files["/etc/t.toml"] = beginning_text(beginning);
    Sources sources;
    Problems problems;
    const DocumentWorld world = memory.world();
    auto config = read_config("/etc/t.toml", sources, problems, world);
    EXPECT_TRUE(config) << problems.text(sources);
    EXPECT_EQ(format_toml(memory.files["/etc/t.toml"]).text, memory.files["/etc/t.toml"]);
    return config.value_or(Config{});
}

TEST(InitFile, AFolder) {
    const Config config = taken({.folder = "www"});
    ASSERT_EQ(config.sites.size(), 1U);
    EXPECT_EQ(config.sites[0].options.root, "/etc/www");
    EXPECT_TRUE(config.sites[0].is_default);
    EXPECT_THAT(config.server.listen, ElementsAre("127.0.0.1:8080"));
}

TEST(InitFile, Php) {
    const Config config =
        taken({.kind = Beginning::Kind::php, .folder = "www", .php = "unix:/run/\"p\".sock"});
    ASSERT_EQ(config.sites.size(), 1U);
    EXPECT_THAT(config.sites[0].options.index, ElementsAre("index.php", "index.html"));
    ASSERT_EQ(config.sites[0].options.routes.size(), 1U);
    EXPECT_EQ(config.sites[0].options.routes[0].match.path, "*.php");
}

TEST(InitFile, ManyHosts) {
    const Config config = taken(
        {.kind = Beginning::Kind::hosts, .hosts = {"a.example", "*.b.example"}, .listen = ":80"});
    ASSERT_EQ(config.sites.size(), 3U);
    EXPECT_THAT(config.sites[1].hosts, ElementsAre("*.b.example"));
    EXPECT_EQ(config.sites[1].options.root, "/etc/b.example");
    EXPECT_TRUE(config.sites[2].is_default);
    EXPECT_THAT(config.server.listen, ElementsAre(":80"));
}

}  // namespace
}  // namespace tiderace::server::config
