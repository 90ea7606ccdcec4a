#include "server/config/asked_request.h"

#include <gtest/gtest.h>

#include <string_view>
#include <variant>
#include <vector>

#include "server/command_line/command_line.h"

namespace tiderace::server::config {
namespace {

std::string read(AskedRequest& asked, std::vector<std::string_view> words) {
    words.insert(words.begin(), {"explain", "a.toml"});
    return asked.read(words[2], std::get<FileTool>(*parse_command_line(words)).words);
}

TEST(AskedRequest, IsTheOneThatAClientSends) {
    AskedRequest asked;
    ASSERT_EQ(read(asked, {"HTTPS://A.example:8443/x/../a%20b?q=1#part", "-H", "X: 1", "-H", "X: 2",
                           "-X", "PUT", "--from", "2001:db8::7"}),
              "");
    const http::Request& request = asked.request();
    EXPECT_TRUE(request.secure);
    EXPECT_EQ(request.authority, "A.example:8443");
    EXPECT_EQ(request.raw_path, "/x/../a%20b");
    EXPECT_EQ(request.path, "/a b");
    EXPECT_EQ(request.query, "q=1");
    EXPECT_EQ(request.method(), http::wire::Method::put);
    EXPECT_EQ(request.head->fields().size(), 3U);
    EXPECT_FALSE(request.peer->is_loopback());
}

TEST(AskedRequest, AHostThatIsGivenCounts) {
    AskedRequest asked;
    ASSERT_EQ(read(asked, {"http://127.0.0.1?q", "-H", "host: b.example"}), "");
    EXPECT_EQ(asked.request().authority, "b.example");
    EXPECT_EQ(asked.request().path, "/");
    EXPECT_TRUE(asked.request().has_query);
    EXPECT_TRUE(asked.request().peer->is_loopback());
}

}  // namespace
}  // namespace tiderace::server::config
