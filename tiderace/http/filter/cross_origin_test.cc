#include "tiderace/http/filter/cross_origin.h"

#include <gtest/gtest.h>

#include "tiderace/http/filter/filter_fixture.h"

namespace tiderace::http::filter {
namespace {

class CrossOriginTest : public FilterTest {};

TEST_F(CrossOriginTest, OnlyThisSitesPagesChangeThings) {
    CrossOrigin rule({"https://friend.example"});
    const struct {
        const char* method;
        testing::RecordedExchange::Fields fields;
        int status;
    } cases[] = {
        {"GET", {{"Sec-Fetch-Site", "cross-site"}}, 200},
        {"HEAD", {{"Origin", "https://evil.example"}}, 200},
        // A WebSocket's over HTTP/2, which its route asks where it comes from, as over HTTP/1.1.
        {"CONNECT", {{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://other.example"}}, 200},
        {"POST", {}, 200},
        {"POST", {{"Sec-Fetch-Site", "same-origin"}}, 200},
        {"POST", {{"Sec-Fetch-Site", "none"}}, 200},
        {"POST", {{"Sec-Fetch-Site", "same-site"}}, 403},
        {"POST", {{"Sec-Fetch-Site", "cross-site"}}, 403},
        {"POST", {{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://localhost"}}, 403},
        {"DELETE", {{"Sec-Fetch-Site", "anything"}}, 403},
        {"POST", {{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://friend.example"}}, 200},
        {"POST", {{"Origin", "http://localhost"}}, 200},
        {"POST", {{"Origin", "https://LOCALHOST"}}, 200},
        {"POST", {{"Origin", "http://localhost.evil.example"}}, 403},
        {"POST", {{"Origin", "http://evil.example"}}, 403},
        {"POST", {{"Origin", "null"}}, 403},
        {"POST", {{"Origin", ""}}, 403},
        {"PUT", {{"Origin", "https://friend.example.evil"}}, 403},
    };
    for (const auto& one : cases) {
        EXPECT_EQ(ask(rule, one.method, one.fields).status(), one.status)
            << one.method << (one.fields.empty() ? "" : one.fields.back().second);
    }
}

}  // namespace
}  // namespace tiderace::http::filter
