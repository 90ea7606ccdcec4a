#include "server/config/explain.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/command_line/command_line.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server::config {
namespace {

constexpr std::string_view file = R"([users]
staff = { anna = "$6$secret" }
[preset.hard]
response.set.X-Frame-Options = "DENY"
response.set.X-A = "preset"
[limits]
body_max = "2MiB"
[[listen]]
address = ":80"
[[site]]
hosts = ["example.org", "*.example.org"]
root = "www"
use = ["hard"]
auth = { users = "staff" }
canonical_host = "example.org"
[[site.route]]
path = "/old"
redirect = "/new{rest}"
auth = "off"
[[site.route]]
path = ["/none", "/app"]
try = ["{path}", "{path}/", "/app.php"]
index = ["i.html", "i.php"]
response.remove = ["X-Frame-Options"]
response.set.X-A = "app"
cache_control = "no-cache"
[[site.route]]
path = "*.php"
fastcgi = "127.0.0.1:9"
[[site.route]]
method = "POST"
header = { X-Mode = "a*" }
status = 503
error_pages.503 = "sorry.html"
)";

class ExplainTest : public ::testing::Test {
  protected:
    void SetUp() override { folder_.write("a.toml", file); }

    // What is printed but for the defaults, without the folder's name.
    std::string explained(std::vector<std::string_view> words, int status = 0) {
        const std::string path = folder_.path_of("a.toml");
        std::vector<std::string_view> all{"explain", path};
        all.insert(all.end(), words.begin(), words.end());
        const auto command = parse_command_line(all);
        EXPECT_TRUE(command) << command.error().sentence;
        ::testing::internal::CaptureStdout();
        ::testing::internal::CaptureStderr();
        EXPECT_EQ(explain_request(std::get<FileTool>(*command).words), status);
        fault_ = ::testing::internal::GetCapturedStderr();
        const std::string printed = ::testing::internal::GetCapturedStdout();
        const std::string here = path.substr(0, path.size() - std::string_view("a.toml").size());
        std::string text;
        for (std::size_t begin = 0; begin < printed.size();) {
            const std::size_t end = printed.find('\n', begin);
            std::string line = printed.substr(begin, end - begin);
            begin = end + 1;
            if (line.ends_with("# default")) continue;
            for (std::size_t at = line.find(here); at != line.npos; at = line.find(here)) {
                line.erase(at, here.size());
            }
            for (std::size_t at = line.find("  #");
                 at != line.npos && at > 0 && line[at - 1] == ' '; at = line.find("  #")) {
                line.erase(at, 1);
            }
            text += line + "\n";
        }
        return text;
    }

    testing::TemporaryFolder folder_;
    std::string fault_;
};

TEST_F(ExplainTest, ARedirectAndSettingsOfPresetsAndOfTheServer) {
    EXPECT_EQ(explained({"http://example.org/old/x%20y?q=1"}),
              R"(site    example.org, *.example.org  # a.toml:10
route   path = "/old"  # a.toml:16
answer  redirect 308 /new/x%20y?q=1  # a.toml:18
set     auth = "off"  # a.toml:19
set     body_max = "2MiB"  # a.toml:7
set     response.set.X-Frame-Options = "DENY"  # a.toml:4, preset hard
set     response.set.X-A = "preset"  # a.toml:5, preset hard
)");
}

TEST_F(ExplainTest, EachNameThatIsTried) {
    EXPECT_EQ(explained({"http://EXAMPLE.org:80/app/7"}),
              R"(site    example.org, *.example.org  # a.toml:10
route   path = "/app"  # a.toml:20
answer  files www  # a.toml:12
file    www/app/7
cache   no-cache  # a.toml:26
file    www/app/7/i.html
cache   no-cache  # a.toml:26
script  www/app/7/i.php
script  www/app.php
set     auth = { users = "staff" }  # a.toml:14
set     body_max = "2MiB"  # a.toml:7
set     index = ["i.html", "i.php"]  # a.toml:23
set     try = ["{path}", "{path}/", "/app.php"]  # a.toml:22
set     response.set.X-A = "app"  # a.toml:25
set     response.remove = "X-Frame-Options"  # a.toml:24
)");
}

TEST_F(ExplainTest, ConditionsAddUpAndTheNearestAnswers) {
    EXPECT_EQ(explained({"-X", "POST", "-H", "X-Mode: abc", "http://example.org/old"}),
              R"(site    example.org, *.example.org  # a.toml:10
route   path = "/old"  # a.toml:16
route   method = "POST", header = { X-Mode = "a*" }  # a.toml:30
answer  redirect 308 /new  # a.toml:18
set     auth = "off"  # a.toml:19
set     body_max = "2MiB"  # a.toml:7
set     response.set.X-Frame-Options = "DENY"  # a.toml:4, preset hard
set     response.set.X-A = "preset"  # a.toml:5, preset hard
set     error_pages.503 = "sorry.html"  # a.toml:34
)");
}

TEST_F(ExplainTest, TheCanonicalHostAndForeignHosts) {
    EXPECT_TRUE(explained({"http://www.example.org/x.php"})
                    .contains("answer  redirect 308 http://example.org/x.php  # a.toml:15\n"));
    EXPECT_EQ(explained({"http://example.com/"}),
              "site    none has this host\nanswer  status 421\n");
    EXPECT_TRUE(explained({"http://127.0.0.1/a.php", "-H", "Host: example.org"})
                    .contains("answer  fastcgi 127.0.0.1:9  # a.toml:29\nscript  www/a.php\n"));
}

TEST_F(ExplainTest, WhatIsNoRequestIsRefused) {
    for (const char* const url : {"", "/a", "ftp://a/", "http://", "http://a/%2", "http://a/b c"}) {
        EXPECT_EQ(explained({url}, 2), "") << url;
        EXPECT_FALSE(fault_.empty()) << url;
    }
    explained({"http://a/", "--from", "here"}, 2);
    explained({"http://a/", "-X", "GET /x HTTP/1.1\r\nA: b\r\n\r\nGET"}, 2);
    explained({"http://a/", "-X", "CONNECT"}, 2);
    folder_.write("a.toml", "[[site]]\nrot = 1\n");
    explained({"http://a/"}, 1);
    EXPECT_TRUE(fault_.contains("a.toml:2:1: error")) << fault_;
}

}  // namespace
}  // namespace tiderace::server::config
