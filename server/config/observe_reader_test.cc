#include "server/config/observe_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "server/config/config.h"
#include "server/config/config_fixture.h"

namespace tiderace::server::config {
namespace {

struct Read {
    std::optional<Config> config;
    std::string told;
};

Read read(const std::string& text) {
    Memory memory;
    memory.files["site.toml"] = "[[site]]\nrespond = \"a\"\n" + text;
    Sources sources;
    Problems problems;
    auto config = read_config("site.toml", sources, problems, memory.world());
    return {std::move(config), problems.text(sources)};
}

TEST(ObserveReader, MetricsHaveAnAddressOfThisMachine) {
    for (const char* listen : {"127.0.0.1:9100", "[::1]:9100", "127.0.0.1:0"}) {
        const Read it = read("[metrics]\nlisten = \"" + std::string(listen) + "\"\n");
        ASSERT_TRUE(it.config) << it.told;
        EXPECT_TRUE(it.config->server.metrics.on);
        EXPECT_EQ(it.config->server.metrics.listen, listen);
        EXPECT_EQ(series_of(*it.config), 78U);
    }
    EXPECT_EQ(series_of(*read("").config), 0U);
}

TEST(ObserveReader, AnotherAddressIsAChoice) {
    for (const char* listen : {":9100", "0.0.0.0:9100", "192.0.2.7:9100"}) {
        const std::string text = "[metrics]\nlisten = \"" + std::string(listen) + "\"\n";
        const Read refused = read(text);
        EXPECT_FALSE(refused.config);
        EXPECT_NE(refused.told.find("others than this machine can reach this address"),
                  std::string::npos);
        const Read taken = read(text + "remote = \"0.0.0.0/0\"\n");
        ASSERT_TRUE(taken.config) << taken.told;
        EXPECT_EQ(taken.config->server.metrics.remote.size(), 1U);
    }
}

TEST(ObserveReader, TheAdminSocketAloneMayShowThem) {
    EXPECT_TRUE(read("[admin]\nsocket = \"a.sock\"\n[metrics]\n").config);
    EXPECT_NE(read("[metrics]\n").told.find("nothing shows what [metrics] counts"),
              std::string::npos);
}

TEST(ObserveReader, RoutesOfOnePathAreOneSeries) {
    const Read it = read(R"([metrics]
listen = "127.0.0.1:9100"
[[site.route]]
path = "/a"
method = "GET"
respond = "a"
[[site.route]]
path = "/a"
method = "POST"
respond = "b"
[[site.route]]
path = "/only/settings"
cache_control = "no-store"
)");
    ASSERT_TRUE(it.config) << it.told;
    EXPECT_EQ(series_of(*it.config), 3U * 39U);
}

}  // namespace
}  // namespace tiderace::server::config
