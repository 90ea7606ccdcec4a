#include "server/nginx/regex.h"

#include <gtest/gtest.h>

#include "tiderace/http/route/regex.h"

namespace tiderace::server::nginx {
namespace {

class NginxRegex : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!http::route::has_regexes()) GTEST_SKIP() << "this build is without PCRE2";
    }
};

TEST_F(NginxRegex, IsAPathWhereItIsSound) {
    EXPECT_EQ(path_of_regex("^/a\\.b$"), "~^/a\\.b$");
    EXPECT_EQ(path_of_regex("\\.JPG$", true), "~(?i)\\.JPG$");
    EXPECT_EQ(path_of_regex("^/(a"), "");
    EXPECT_EQ(path_of_regex("^/\xff"), "") << "no UTF-8, which TOML is";
}

TEST_F(NginxRegex, GroupsOfATarget) {
    const std::string path = "~^/(a)(?<id>b)$";
    EXPECT_EQ(with_groups("/$1/$2", path), "/{1}/{2}");
    EXPECT_EQ(with_groups("/$id-${id}x$1", path), "/{id}-{id}x{1}");
    EXPECT_EQ(with_groups("/$12", path), "/{1}2") << "a number has one digit";
    EXPECT_EQ(with_groups("/$3$0$ids${id$", path), "/$3$0$ids${id$") << "not of this one";
    EXPECT_EQ(with_groups("/$1", "/a"), "/$1");
}

TEST_F(NginxRegex, ARewriteIsAPathAndATarget) {
    const auto made = rewritten_of("^/u/(\\d+)$", "/user/$1");
    ASSERT_TRUE(made);
    EXPECT_EQ(made->path, "~^/u/(\\d+)$");
    EXPECT_EQ(made->target, "/user/{1}");
    EXPECT_EQ(rewritten_of("^/u$", "/user?")->target, "/user");
    EXPECT_FALSE(rewritten_of("^/u/(.*)$", "/user/$1?")) << "the query would go along";
    EXPECT_FALSE(rewritten_of("^/u/(.*)$", "/user?id=$1"));
    EXPECT_FALSE(rewritten_of("^/u", "/{user}"));
    EXPECT_FALSE(rewritten_of("^/(u", "/user"));
    EXPECT_TRUE(is_inside("^/a/b", "/a") && !is_inside("^/ab", "/a") && !is_inside("/a/b", "/a"));
}

}  // namespace
}  // namespace tiderace::server::nginx
