#include "server/site/variables.h"

#include <gtest/gtest.h>

#include "tiderace/http/route/regex.h"

namespace tiderace::server {
namespace {

TEST(Variables, AreKnownByName) {
    for (const char* const sound : {"", "/a", "{path}", "{host}/{host.9}{rest}", "{1}{2}"}) {
        EXPECT_EQ(variable_fault(sound, {.path = "/*/**"}), "") << sound;
    }
    for (const char* const wrong :
         {"{", "}", "{a", "{}", "{host.0}", "{host.10}", "{3}", "{0}", "{10}", "{{path}}"}) {
        EXPECT_NE(variable_fault(wrong, {.path = "/*/**"}), "") << wrong;
    }
    EXPECT_EQ(variable_fault("{1}", {.path = "/a"}), "{1} stands for a star, and the path has 0");
}

TEST(Variables, ArePutInOnce) {
    const http::RouteMatch match{.path = "/x/*/*"};
    const VariableValues values{.authority = "a.example", .path = "/x/{2}/{host}", .route = match};
    EXPECT_EQ(path_with_variables("/{1}/{2}", values, ""), "/{2}/{host}");
    EXPECT_EQ(location_with_variables("/{1}/{2}", values), "/%7B2%7D/%7Bhost%7D");
    EXPECT_TRUE(has_path_variable("/{host}/{1}") && !has_path_variable("/{host}{host.1}"));
    EXPECT_TRUE(has_path_variable("/{hostname}")) << "a group of this name is a part of the path";
}

TEST(Variables, AreGroupsOfARegularExpression) {
    if (!http::route::has_regexes()) GTEST_SKIP() << "this build is without PCRE2";
    const std::string regex = "^/(?<kind>[a-z]+)(/x)?/(?<id>[0-9]+)$";
    const http::RouteMatch match{.path = "~" + regex, .regex = *http::route::compile_regex(regex)};
    EXPECT_EQ(variable_fault("/{id}/{kind}/{2}{path}", match), "");
    EXPECT_EQ(variable_fault("/{name}", match), "there is no variable {name}");
    EXPECT_EQ(variable_fault("/{4}", match), "{4} stands for a group, and the path has 3");
    const VariableValues values{.authority = "a.example", .path = "/user/17", .route = match};
    EXPECT_EQ(path_with_variables("/{id}/{kind}{2}.txt", values, ""), "/17/user.txt");
    EXPECT_EQ(location_with_variables("/{1}/{3}{rest}", values), "/user/17/user/17");
    const VariableValues other{.authority = "a.example", .path = "/user/x", .route = match};
    EXPECT_EQ(location_with_variables("/{1}", other), std::nullopt) << "it does not match";
    const std::string many = "(1)(2)(3)(4)(5)(6)(7)(8)(9)(?<ten>a)";
    const http::RouteMatch ten{.path = "~" + many, .regex = *http::route::compile_regex(many)};
    EXPECT_EQ(variable_fault("{ten}", ten), "{ten} stands for a group, and the path has 9");
}

TEST(Variables, APartOfANameLeadsNoPathUp) {
    const http::RouteMatch match{.path = "/a/*b"};
    const auto file = [&](std::string_view text, std::string_view path) {
        return path_with_variables(text, {.path = path, .route = match}, path);
    };
    EXPECT_EQ(file("/docs/{1}/x", "/a/..b"), std::nullopt);
    EXPECT_EQ(file("/docs/{1}", "/a/..b"), std::nullopt);
    EXPECT_EQ(file("/docs/.{1}/x", "/a/.b"), std::nullopt);
    EXPECT_EQ(file("/docs/{1}/x", "/a/.b"), std::nullopt);
    EXPECT_EQ(file("/docs/{1}x", "/a/..b"), "/docs/..x");
    EXPECT_EQ(file("/docs/{1}/x", "/a/...b"), "/docs/.../x");
    EXPECT_EQ(file("/docs/{1}/x", "/a/b"), "/docs/x");
}

}  // namespace
}  // namespace tiderace::server
