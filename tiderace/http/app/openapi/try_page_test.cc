#include "tiderace/http/app/openapi/try_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tiderace::http::app_parts {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TryPage, FindsTheDocumentBelowAnyPrefix) {
    EXPECT_EQ(relative_path("/docs", "/openapi.json"), "openapi.json");
    EXPECT_EQ(relative_path("/docs/", "/openapi.json"), "../openapi.json");
    EXPECT_EQ(relative_path("/a/b/c", "/a/x/y"), "../x/y");
    EXPECT_EQ(relative_path("/", "/a/openapi.json"), "a/openapi.json");
    EXPECT_EQ(relative_path("/a/b", "/"), "../");
    EXPECT_EQ(relative_path("/a", "/"), "./");
    EXPECT_EQ(relative_path("/ab/c", "/ac/d"), "../ac/d");
}

std::string field(const Response& response, std::string_view name) {
    for (const ResponseField& one : response.fields()) {
        if (one.name == name) return std::string(one.value);
    }
    return "";
}

// tests/test_browser.py looks at it.
TEST(TryPage, ItsPolicyNamesItsOwnParts) {
    const TryPage page("a <b> & \"c\"", "/docs", "/openapi.json");
    const Response first = page.answer();
    const std::string policy = field(first, "Content-Security-Policy");
    EXPECT_THAT(policy, HasSubstr("default-src 'none'; connect-src 'self'"));
    EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
    EXPECT_NE(policy, field(page.answer(), "Content-Security-Policy")) << "each has a nonce";
}

}  // namespace
}  // namespace tiderace::http::app_parts
