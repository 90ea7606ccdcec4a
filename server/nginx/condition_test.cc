#include "server/nginx/condition.h"

#include <gtest/gtest.h>

namespace tiderace::server::nginx {
namespace {

// "header.A = \"b\"; …"
std::string text_of(std::vector<std::string> words) {
    std::string text;
    for (const RouteCondition& each : conditions_of({.name = "if", .words = std::move(words)})) {
        text += (text.empty() ? "" : "; ") + each.key + " = " + each.value;
    }
    return text;
}

TEST(NginxCondition, IsThatOfARoute) {
    EXPECT_EQ(text_of({"($request_method", "=", "POST)"}), "method = [\"POST\"]");
    EXPECT_EQ(text_of({"($request_method", "~", "^(PUT|DELETE)$)"}),
              "method = [\"PUT\", \"DELETE\"]");
    EXPECT_EQ(text_of({"($http_user_agent", "~", "(curl|wget))"}),
              "header.User-Agent = \"*curl*\"; header.User-Agent = \"*wget*\"");
    EXPECT_EQ(text_of({"($http_user_agent", "~", "^curl)"}), "header.User-Agent = \"curl*\"");
    EXPECT_EQ(text_of({"($http_x_debug)"}), "header.X-Debug = true");
    EXPECT_EQ(text_of({"($http_user_agent", "=", ")"}),
              "header.User-Agent = false; header.User-Agent = \"\"");
    EXPECT_EQ(text_of({"($arg_key", "=", "a)"}), "query.key = \"a\"");
    EXPECT_EQ(text_of({"($remote_addr", "=", "192.0.2.1)"}), "remote = \"192.0.2.1\"");
    EXPECT_EQ(text_of({"($scheme", "=", "http)"}), "scheme = \"http\"");
}

TEST(NginxCondition, IsNoneWhereARouteWouldRefuseMoreOrLess) {
    const std::vector<std::vector<std::string>> cases{{"($request_method", "!~", "^(GET|HEAD)$)"},
                                                      {"($request_method", "=", "GET)"},
                                                      {"($request_method", "=", "PROPFIND)"},
                                                      {"($http_user_agent", "~*", "bot)"},
                                                      {"($http_user_agent", "~", "bot.*x)"},
                                                      {"($http_user_agent", "~", "^a|b$)"},
                                                      {"($http_user_agent", "~", ")"},
                                                      {"($http_host", "=", "*)"},
                                                      {"($remote_addr", "~", "^10)"},
                                                      {"($remote_addr", "=", "x)"},
                                                      {"(-f", "$request_filename)"},
                                                      {"($invalid_referer)"},
                                                      {"($x", "=", "1", "2)"},
                                                      {"x"},
                                                      {},
                                                      {"("}};
    for (const auto& words : cases) EXPECT_EQ(text_of(words), "");
}

}  // namespace
}  // namespace tiderace::server::nginx
