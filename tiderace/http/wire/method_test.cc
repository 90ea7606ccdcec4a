#include "tiderace/http/wire/method.h"

#include <gtest/gtest.h>

namespace tiderace::http::wire {
namespace {

TEST(Method, NamesRoundTrip) {
    for (int i = 0; i < static_cast<int>(Method::other); ++i) {
        const auto method = static_cast<Method>(i);
        EXPECT_FALSE(to_string(method).empty()) << i;
        EXPECT_EQ(parse_method(to_string(method)), method) << to_string(method);
    }
    EXPECT_EQ(to_string(Method::delete_), "DELETE");
    EXPECT_EQ(to_string(Method::patch), "PATCH");
    EXPECT_EQ(to_string(Method::other), "");
}

TEST(HttpVersion, HasANameForLogs) {
    EXPECT_EQ(to_string(HttpVersion::http_1_0), "HTTP/1.0");
    EXPECT_EQ(to_string(HttpVersion::http_1_1), "HTTP/1.1");
    EXPECT_EQ(to_string(HttpVersion::http_2), "HTTP/2.0");
}

TEST(Method, AnyOtherSpellingIsOther) {
    for (const ByteView text :
         {"", "get", "Get", "GETS", "GE", "GET ", "PROPFIND", "PRI", "POSTS"}) {
        EXPECT_EQ(parse_method(text), Method::other) << text;
    }
}

}  // namespace
}  // namespace tiderace::http::wire
