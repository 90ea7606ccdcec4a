#include "server/config/config.h"

#include <gtest/gtest.h>

#include <string>

#include "server/config/config_fixture.h"

namespace tiderace::server::config {
namespace {

std::optional<Config> read(const std::string& text, std::string& told) {
    Memory memory;
    memory.files["site.toml"] = text;
    memory.files["a.pem"] = memory.files["a.key"] = "";
    Sources sources;
    Problems problems;
    auto config = read_config("site.toml", sources, problems, memory.world());
    told = problems.text(sources);
    return config;
}

TEST(ConfigTest, TheTablesOfTheServerHoldForAllSites) {
    std::string told;
    const auto config = read(R"(
[server]
threads = 2
[server.file_cache]
size = "8MiB"
[[listen]]
address = ":8443"
[[listen]]
address = ":8080"
redirect_to_https = true
[[tls.certificate]]
cert = "a.pem"
key = "a.key"
[log]
level = "debug"
[mime]
glb = "model/gltf-binary"
[[site]]
hosts = ["a.example"]
root = "/srv/www"
[[site]]
default = true
status = 421
)",
                             told);
    ASSERT_TRUE(config) << told;
    EXPECT_EQ(config->server.listen, (std::vector<std::string>{":8443"}));
    EXPECT_EQ(config->server.tls.https_redirect, (std::vector<std::string>{":8080"}));
    ASSERT_EQ(config->server.tls.certificates.size(), 1U);
    EXPECT_EQ(config->server.tls.certificates[0].key, "a.key");
    EXPECT_EQ(config->server.cache.bytes_max, 8_MiB);
    ASSERT_EQ(config->sites.size(), 2U);
    EXPECT_EQ(config->sites[0].options.threads, 2U);
    EXPECT_EQ(config->sites[0].options.mime_additions.size(), 1U);
    EXPECT_EQ(config->sites[1].options.whole.reply.value().status, 421);
    EXPECT_TRUE(config->sites[1].options.root.empty()) << "it has no files";
}

TEST(ConfigTest, TheAdminSocketLiesBesideItsFile) {
    std::string told;
    const std::string site = "[[site]]\nroot = \"/srv/www\"\n";
    const auto plain = read("[admin]\nsocket = \"a.sock\"\n" + site, told);
    ASSERT_TRUE(plain) << told;
    EXPECT_TRUE(plain->server.admin_socket.ends_with("a.sock"));
    EXPECT_EQ(plain->server.admin_mode, 0600U);
    for (const char* const mode : {"660", "0660"}) {
        const auto open =
            read("[admin]\nsocket = \"/run/a.sock\"\nmode = \"" + std::string(mode) + "\"\n" + site,
                 told);
        ASSERT_TRUE(open) << told;
        EXPECT_EQ(open->server.admin_socket, "/run/a.sock");
        EXPECT_EQ(open->server.admin_mode, 0660U);
    }
    for (const char* const mode : {"", "60", "1660", "00660", "06 0", "-660", "rw-"}) {
        EXPECT_FALSE(
            read("[admin]\nsocket = \"/a\"\nmode = \"" + std::string(mode) + "\"\n" + site, told))
            << mode;
    }
    EXPECT_FALSE(read("[admin]\nsocket = \"/" + std::string(200, 'a') + "\"\n" + site, told));
}

TEST(ConfigTest, EverythingThatIsWrongIsFoundAtOnce) {
    std::string told;
    EXPECT_FALSE(
        read("[server]\nthreds = 1\n[limits]\nhead_max = 1\n[[site]]\nlisting = 1\n"
             "root = \"/none\"\n",
             told));
    EXPECT_TRUE(told.ends_with("4 errors\n")) << told;
}

TEST(ConfigTest, WhatFlagsAreCheckedForTogetherAFileIsToo) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"[tls]\nclient_auth = \"required\"\n[[tls.certificate]]\ncert = \"a.pem\"\n",
         "tls.client_auth needs tls.client_ca: the authorities to trust"},
        {"[tls]\nself_signed = true\n[[tls.certificate]]\ncert = \"a.pem\"\n",
         "tls.self_signed and [[tls.certificate]]: choose one"},
        {"[tls]\npublic_port = 444\n",
         "tls.public_port needs a certificate: [[tls.certificate]] or tls.self_signed"}};
    for (const auto& [text, sentence] : cases) {
        std::string told;
        EXPECT_FALSE(read(std::string(text) + "[[site]]\nroot = \"/srv/www\"\n", told)) << text;
        EXPECT_NE(told.find(sentence), std::string::npos) << told;
    }
}

TEST(ConfigTest, ASiteIsCheckedAsAWhole) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"hsts = \"1d\"", "hsts needs a certificate"},
        {"route = [{ path = \"/a\", redirect = \"/b\" }, { path = \"/b\", redirect = \"/a\" }]",
         "redirects lead in a circle: /a -> /b -> /a -> /b"},
        {"route = [{ path = \"*.php\", fastcgi = \"unix:/x\" }]",
         "the scripts of a pattern lie in the site's root"}};
    for (const auto& [text, sentence] : cases) {
        std::string told;
        EXPECT_FALSE(read("[[site]]\n" + std::string(text) + "\n", told)) << text;
        EXPECT_NE(told.find(sentence), std::string::npos) << told;
    }
}

TEST(ConfigTest, TlsWithoutAnAddressHasTheUsualOne) {
    std::string told;
    const auto config = read("[tls]\nself_signed = true\n[[site]]\nroot = \"/srv/www\"\n", told);
    ASSERT_TRUE(config) << told;
    EXPECT_EQ(config->server.listen, (std::vector<std::string>{"127.0.0.1:8443"}));
}

TEST(ConfigTest, AFileThatIsNotThereIsOneError) {
    Memory memory;
    Sources sources;
    Problems problems;
    EXPECT_FALSE(read_config("none.toml", sources, problems, memory.world()));
    EXPECT_EQ(problems.text(sources),
              "none.toml: error: cannot read none.toml: no such file or directory\n1 error\n");
}

}  // namespace
}  // namespace tiderace::server::config
