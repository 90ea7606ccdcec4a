#include "server/config/print_config.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/command_line/command_line.h"
#include "server/command_line/flags.h"
#include "server/config/config.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server::config {
namespace {

using Samples = std::map<std::string_view, std::vector<std::string>>;

class PrintConfigTest : public ::testing::Test {
  protected:
    PrintConfigTest() {
        folder_.write("a.pem", "");
        folder_.write("a.key", "");
        folder_.write("users", "ada:$2y$04$" + std::string(53, 'a') + "\n");
        folder_.write("404.html", "");
        folder_.write("a.html", "");
        folder_.make_folder("cgi");
    }
    std::string path(std::string_view name) const { return folder_.path_of(name); }

    ServeOptions parse(std::vector<std::string> words) const {
        words.insert(words.begin(), {"serve", folder_.path()});
        const std::vector<std::string_view> views(words.begin(), words.end());
        auto command = parse_command_line(views);
        EXPECT_TRUE(command) << (command ? "" : command.error().sentence);
        return command ? std::get<ServeOptions>(*command) : ServeOptions();
    }
    // What the printed file means, as the flags that do the same.
    ServeOptions read(const std::string& text) const {
        folder_.write("printed.toml", text);
        Sources sources;
        Problems problems;
        DocumentWorld world = this_world();
        world.looks_closely = false;  // not all that the flags name is there
        auto config = read_config(path("printed.toml"), sources, problems, world);
        EXPECT_TRUE(config) << problems.text(sources) << text;
        return config ? config->sites.at(0).options : ServeOptions();
    }

    // Words for each flag that change what it is about.
    Samples samples_of_sites() const;
    Samples samples_of_servers() const;

    testing::TemporaryFolder folder_;
};

Samples PrintConfigTest::samples_of_sites() const {
    const std::string tls = path("a.pem") + "," + path("a.key");
    return {
        {"listen", {"--listen", "127.0.0.1:0", "--listen", "unix:/run/x.sock"}},
        {"http2", {"--http2", "off"}},
        {"max-connections", {"--max-connections", "77"}},
        {"backlog", {"--backlog", "9"}},
        {"tls", {"--tls", tls}},
        {"tls-self-signed", {"--tls-self-signed"}},
        {"https-redirect", {"--tls", tls, "--https-redirect", ":8080"}},
        {"https-port", {"--tls", tls, "--https-port", "444"}},
        {"hsts", {"--tls", tls, "--hsts"}},
        {"tls-client-auth",
         {"--tls", tls, "--tls-client-auth", "required", "--tls-client-ca", path("a.pem")}},
        {"tls-client-ca",
         {"--tls", tls, "--tls-client-auth", "optional", "--tls-client-ca", path("a.pem")}},
        {"index", {"--index", "a.html,b.html"}},
        {"listing", {"--listing"}},
        {"no-listing", {"--no-listing"}},
        {"spa", {"--spa=app.html"}},
        {"clean-urls", {"--clean-urls"}},
        {"error-page", {"--error-page", "404=404.html"}},
        {"path-error-page", {"--path-error-page", "/a=404=a.html"}},
        {"mime", {"--mime", "glb=model/gltf-binary"}},
        {"no-precompressed", {"--no-precompressed"}},
        {"compress", {"--compress", "br,gzip"}},
        {"path-compress", {"--path-compress", "/a=off"}},
        {"compress-min", {"--compress-min", "100"}},
        {"compress-max", {"--compress-max", "1MiB"}},
        {"compress-cache", {"--compress-cache", path("cgi")}},
        {"hidden", {"--hidden"}},
        {"symlinks", {"--symlinks", "never"}},
        {"cgi", {"--cgi", "/cgi-bin=" + path("cgi")}},
        {"fastcgi", {"--fastcgi", "*.php=unix:/run/php.sock", "--fastcgi", "/a=127.0.0.1:9000"}},
        {"cgi-timeout", {"--cgi", "/c=" + path("cgi"), "--cgi-timeout", "3s"}},
        {"cgi-max", {"--cgi", "/c=" + path("cgi"), "--cgi-max", "3"}},
        {"cgi-memory", {"--cgi", "/c=" + path("cgi"), "--cgi-memory", "64MiB"}},
        {"cache-control",
         {"--cache-control", "*.css=max-age=5", "--cache-control", "/a/*=max-age=6",
          "--cache-control", "no-cache"}},
        {"header", {"--header", "X-A:\"b\\c"}},
        {"cors", {"--cors"}},
        {"path-header", {"--path-header", "/a=X-A:b"}},
        {"path-cors", {"--path-cors", "/a=https://a.example"}},
        {"path-redirect", {"--path-redirect", "/old=/new", "--path-redirect", "=/a%3Db=/c"}},
        {"no-server-header", {"--no-server-header"}},
        {"about", {"--about"}},
        {"basic-auth", {"--basic-auth", path("users")}},
        {"path-auth", {"--path-auth", "/a=" + path("users"), "--path-auth", "/a/b=off"}},
        {"path-rate", {"--path-rate", "/a=20,5", "--path-rate", "/a/b=off"}},
        {"access-log", {"--access-log", path("log")}},
        {"path-log", {"--access-log", "-", "--path-log", "/a=off"}}};
}

Samples PrintConfigTest::samples_of_servers() const {
    return {
        {"log-format", {"--access-log", "-", "--log-format", "json"}},
        {"log-level", {"--log-level", "debug"}},
        {"log-flush", {"--log-flush", "5s"}},
        {"log-rotate", {"--access-log", path("log"), "--log-rotate", "1MiB"}},
        {"log-keep", {"--access-log", path("log"), "--log-rotate", "1MiB", "--log-keep", "2"}},
        {"threads", {"--threads", "3"}},
        {"engine", {"--engine", "poll"}},
        {"accept", {"--accept", "shared"}},
        {"user", {"--user", "www-data:www-data"}},
        {"cache", {"--cache", "1MiB"}},
        {"cache-file-max", {"--cache-file-max", "4KiB"}},
        {"cache-check", {"--cache-check", "3s"}},
        {"small-copy-max", {"--small-copy-max", "1KiB"}},
        {"sendfile-min", {"--sendfile-min", "1MiB"}},
        {"header-timeout", {"--header-timeout", "1s"}},
        {"body-timeout", {"--body-timeout", "1s"}},
        {"write-timeout", {"--write-timeout", "1s"}},
        {"idle-timeout", {"--idle-timeout", "1s"}},
        {"half-closed-timeout", {"--half-closed-timeout", "1s"}},
        {"drain-timeout", {"--drain-timeout", "1s"}},
        {"min-receive-rate", {"--min-receive-rate", "1"}},
        {"min-send-rate", {"--min-send-rate", "1"}},
        {"max-line", {"--max-line", "1KiB"}},
        {"max-head", {"--max-head", "32KiB"}},
        {"max-fields", {"--max-fields", "7"}},
        {"max-body", {"--max-body", "1KiB"}},
        {"send-buffer-max", {"--send-buffer-max", "4MiB"}},
    };
}

TEST_F(PrintConfigTest, EachFlagIsInTheFileAndTheFileMeansTheSame) {
    Samples samples = samples_of_sites();
    samples.merge(samples_of_servers());
    const ServeOptions plain = parse({"--listen", "127.0.0.1:0"});
    const std::string nothing = print_config(plain);
    for (const ServeFlag& flag : serve_flags()) {
        // These are of the command line alone.
        if (flag.text.name == "open" || flag.text.name == "quiet" || flag.text.name == "help" ||
            flag.text.name == "print-config") {
            continue;
        }
        const auto sample = samples.find(flag.text.name);
        ASSERT_NE(sample, samples.end()) << "a sample for --" << flag.text.name;
        const std::string printed = print_config(parse(sample->second));
        EXPECT_NE(printed, nothing) << flag.text.name;
        EXPECT_EQ(print_config(read(printed)), printed) << flag.text.name;
        samples.erase(sample);
    }
    EXPECT_TRUE(samples.empty()) << samples.begin()->first;
}

TEST_F(PrintConfigTest, APasswordIsNotPrinted) {
    const std::string printed = print_config(parse({"--basic-auth", "ann:secret"}));
    EXPECT_EQ(printed.find("secret"), std::string::npos);
    EXPECT_NE(printed.find("[users.staff]"), std::string::npos) << printed;
}

}  // namespace
}  // namespace tiderace::server::config
