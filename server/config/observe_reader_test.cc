#include "server/config/observe_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "server/config/config.h"
#include "server/config/config_fixture.h"
#include "tiderace/http/access_log.h"

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
        EXPECT_EQ(series_of(*it.config), 112U);
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

TEST(ObserveReader, ARouteMayShowThemToSome) {
    const std::string route = "[[site.route]]\npath = \"/numbers\"\nmetrics = true\n";
    const std::string users = "[users.staff]\nann = \"only an example\"\n";
    const std::string counted = users + "[metrics]\n";
    for (const char* guard : {"remote = \"10.0.0.0/8\"\n", "auth = { users = \"staff\" }\n"}) {
        const Read it = read(route + guard + counted);
        ASSERT_TRUE(it.config) << it.told;
        EXPECT_TRUE(it.config->sites[0].options.routes[0].shows_metrics);
        EXPECT_NE(read(route + guard + users)
                      .told.find("this route shows metrics, and nothing is counted"),
                  std::string::npos);
    }
    for (const char* open : {"", "auth = \"off\"\n", "method = \"GET\"\n"}) {
        const Read it = read(route + open + counted);
        EXPECT_FALSE(it.config) << open;
        EXPECT_NE(it.told.find("everybody could read the numbers of this server here"),
                  std::string::npos)
            << it.told;
    }
    EXPECT_NE(read(route + "remote = \"::1\"\nrespond = \"a\"\n" + counted)
                  .told.find("\"respond\" stands beside \"metrics\""),
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
    EXPECT_EQ(series_of(*it.config), 3U * 56U);
}

TEST(ObserveReader, ALogChoosesWhatItSays) {
    const Read it = read(R"([log]
fields = ["status", "path"]
format = "json"
redact_query = true
skip = { status = ["2xx", "3xx"], sample = 1 }
slow = "2s"
)");
    ASSERT_TRUE(it.config) << it.told;
    const http::AccessLogRules& rules = it.config->server.log_rules;
    EXPECT_EQ(rules.fields,
              http::bit_of(http::LogField::status) | http::bit_of(http::LogField::path));
    EXPECT_TRUE(rules.redacts_query);
    EXPECT_EQ(rules.thinned, 1U << 2 | 1U << 3);
    EXPECT_EQ(rules.kept_of_thinned, 1);
    EXPECT_EQ(it.config->server.slow, Duration(2s));
    EXPECT_EQ(read("[log]\nskip = { status = \"2xx\" }\n").config->server.log_rules.kept_of_thinned,
              0);
    EXPECT_EQ(read("[log]\nslow = \"off\"\n").config->server.slow, Duration::zero());
}

TEST(ObserveReader, SitesAndRoutesSayWhoIsTold) {
    const Read it = read(R"(slow = "1s"
server_timing = "10.0.0.0/8"
[[site.route]]
path = "/a"
slow = "off"
server_timing = "off"
[[site.route]]
path = "/b"
server_timing = ["10.0.0.0/8", "::1"]
)");
    ASSERT_TRUE(it.config) << it.told;
    const ServeOptions& site = it.config->sites[0].options;
    EXPECT_EQ(site.whole.slow, Duration(1s));
    EXPECT_EQ(site.whole.server_timing->size(), 1U);
    EXPECT_EQ(site.routes[0].slow, Duration::zero());
    EXPECT_TRUE(site.routes[0].server_timing->empty());
    EXPECT_EQ(site.routes[1].server_timing->size(), 2U);
    EXPECT_FALSE(site.routes[1].slow);
    EXPECT_FALSE(read("server_timing = []\n").config);
}

}  // namespace
}  // namespace tiderace::server::config
