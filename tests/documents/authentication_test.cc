// The programs of docs/authentication.md that keep or verify something of others, and the limits of
// docs/middleware.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/documents/program.h"
#include "tiderace/jwt/token_fixture.h"

namespace documents {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Authentication : public ::testing::Test {
  protected:
    tiderace::testing::TemporaryFolder folder;
};

TEST_F(Authentication, SessionsOutliveTheProgram) {
    std::string cookie;
    for (const char* const body : {"1\n", "2\n", "3\n"}) {
        Program program(folder, "authentication/stores");
        const auto answer = ask("POST", program.url("/count"), "", "", {{"Cookie", cookie}});
        EXPECT_EQ(answer.body, body);
        const std::string set(answer.header("Set-Cookie"));
        cookie = set.substr(0, set.find(';'));
        EXPECT_EQ(program.end(), 0);
    }
}

TEST_F(Authentication, Passwords) {
    constexpr const char* form = "application/x-www-form-urlencoded";
    Program program(folder, "authentication/passwords");
    const auto send = [&](const std::string& path, const std::string& body) {
        return ask("POST", program.url(path), body, form).status;
    };
    EXPECT_EQ(send("/sign-up", "name=ann&password=correct+horse"), 201);
    EXPECT_EQ(send("/login", "name=ann&password=correct+horse"), 204);
    EXPECT_EQ(send("/login", "name=ann&password=wrong"), 403);
    EXPECT_EQ(send("/login", "name=bob&password=correct+horse"), 403);
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Authentication, BearerTokens) {
    const std::string key = folder.path_of("key.pem");
    std::ofstream(key) << tiderace::jwt::tokens::ec_key;
    Program program(folder, "authentication/bearer_tokens", {key});
    const std::string good = "Bearer " + std::string(tiderace::jwt::tokens::es256);
    EXPECT_EQ(get(program.url("/api/me"), {{"Authorization", good}}).body, "ann: read\n");
    EXPECT_EQ(get(program.url("/api/me")).status, 401);
    const std::string other = "Bearer " + std::string(tiderace::jwt::tokens::rs256);
    EXPECT_EQ(get(program.url("/api/me"), {{"Authorization", other}}).status, 401);
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Authentication, LinksThatExpire) {
    ::setenv("LINK_SECRET", "32 bytes that are no secret here", 1);
    Program program(folder, "authentication/links_that_expire");
    ::unsetenv("LINK_SECRET");
    std::string link = get(program.url("/share/7")).body;
    ASSERT_THAT(link, StartsWith("/files/7?expires="));
    link.pop_back();
    EXPECT_EQ(get(program.url(link)).body, "file 7\n");
    EXPECT_EQ(get(program.url("/files/7")).status, 403);
    EXPECT_EQ(get(program.url("/files/8" + link.substr(8))).status, 403);
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Authentication, LimitsByAKey) {
    Program program(folder, "middleware/limits");
    const auto note = [&](const std::string& member) {
        return ask("POST", program.url("/notes"), "", "", {{"X-Member", member}}).status;
    };
    EXPECT_EQ(note("a"), 200);
    EXPECT_EQ(note("b"), 200);
    EXPECT_EQ(note("c"), 429);
    EXPECT_EQ(note("aa"), 200);
    for (const int status : {200, 200, 200, 429}) {
        EXPECT_EQ(get(program.url("/shops/1")).status, status);
    }
    EXPECT_EQ(get(program.url("/shops/2")).status, 200);
    EXPECT_EQ(program.end(), 0);
}

}  // namespace
}  // namespace documents
