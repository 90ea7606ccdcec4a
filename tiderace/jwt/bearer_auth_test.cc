#include "tiderace/jwt/bearer_auth.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/app.h"
#include "tiderace/jwt/token_fixture.h"
#include "tiderace/testing.h"

namespace tiderace::jwt {
namespace {

using http::App;
using http::Headers;

Options options() {
    return {.keys = {{Algorithm::es256, std::string(tokens::ec_key)}},
            .issuer = "https://login.example.org",
            .audience = "mail"};
}

TEST(BearerAuth, LeavesTheClaims) {
    App app;
    app.group("/api").use(bearer_auth(options())).get<"/me">([](const Claims& claims) {
        return claims.subject + " may " + claims.all["scope"].as<std::string>().value_or("none");
    });
    app.get<"/">([] { return "open"; });
    testing::Client client(app);
    const auto ask = [&](std::string_view field) {
        return client.get("/api/me", Headers{{"Authorization", field}});
    };
    EXPECT_EQ(ask("Bearer " + std::string(tokens::es256)).text(), "ann may read");
    EXPECT_EQ(ask("bearer  " + std::string(tokens::es256)).text(), "ann may read");
    EXPECT_EQ(client.get("/").text(), "open");
    const auto none = client.get("/api/me");
    EXPECT_EQ(none.status, 401);
    EXPECT_EQ(none.headers.find("WWW-Authenticate"), "Bearer realm=\"restricted\"");
    const auto other = ask("Bearer " + std::string(tokens::hs256));
    EXPECT_EQ(other.status, 401);
    EXPECT_EQ(other.headers.find("WWW-Authenticate"),
              "Bearer realm=\"restricted\", error=\"invalid_token\","
              " error_description=\"the token's algorithm is not accepted\"");
    for (const std::string& bad :
         {std::string("Basic YTpi"), std::string("Bearer"),
          "Bearer " + std::string(tokens::es256) + " x", "Bearer " + std::string(5'000, 'a')}) {
        EXPECT_EQ(ask(bad).status, 401) << bad;
    }
}

TEST(BearerAuth, IsInTheDocument) {
    App app;
    app.get<"/me">([] { return "x"; }, bearer_auth(options()));
    app.openapi("/openapi.json", {.title = "Shop"});
    testing::Client client(app);
    const std::string document(client.get("/openapi.json").text());
    EXPECT_NE(document.find("\"401\""), document.npos) << document;
    EXPECT_NE(document.find("\"scheme\":\"bearer\""), document.npos) << document;
}

TEST(BearerAuth, OptionsThatAreNoneAreSaidAtTheStart) {
    App app;
    app.use(bearer_auth({.keys = {{Algorithm::rs256, "no key", "r9"}}}));
    app.get<"/">([] { return "x"; });
    try {
        testing::Client client(app);
        FAIL() << "it serves";
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("r9"), std::string::npos) << error.what();
    }
}

// As with all that middleware leaves: found when the App starts, not at the first request.
TEST(BearerAuth, ClaimsNeedItBeforeThem) {
    App app;
    app.get<"/">([](const Claims& claims) { return claims.subject; });
    EXPECT_THROW(testing::Client client(app), std::invalid_argument);
}

}  // namespace
}  // namespace tiderace::jwt
