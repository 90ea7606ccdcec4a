#include "tiderace/http/app/limits/rate_limit.h"

#include <gtest/gtest.h>

#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "tiderace/http/app/app_fixture.h"
#include "tiderace/http/app/cookies.h"
#include "tiderace/http/app/problem.h"

namespace tiderace::http {
namespace {

struct User {
    std::uint64_t id;
};

class RateLimitTest : public AppTest {
  protected:
    static constexpr filter::RateLimitOptions one{.per_minute = 1, .burst = 1};

    std::string status(std::string_view target, std::string_view fields = {}) {
        return status_of(ask("GET", target, fields));
    }
};

TEST_F(RateLimitTest, OfEachUser) {
    app.use([](const Request& request) -> std::expected<User, Problem> {
        const ByteView name = request.header("X-User");
        if (name.empty()) return std::unexpected(Problem{.status = 401});
        return User{name.size()};
    });
    app.get<"/notes">([] { return "x"; },
                      rate_limit(one, [](const User& user) { return user.id; }));
    EXPECT_EQ(status("/notes"), "401") << "not counted";
    EXPECT_EQ(status("/notes", "X-User: a\r\n"), "200");
    const std::string refused = ask("GET", "/notes", "X-User: b\r\n");
    EXPECT_EQ(status_of(refused), "429");
    EXPECT_NE(refused.find("Retry-After: 60\r\n"), std::string::npos) << refused;
    EXPECT_EQ(status("/notes", "X-User: bc\r\n"), "200");
    world.advance(60s);
    EXPECT_EQ(status("/notes", "X-User: a\r\n"), "200");
}

TEST_F(RateLimitTest, OfEachKeyAndNoneWithoutOne) {
    app.use(rate_limit(one, [](const Request& request) -> std::optional<std::string> {
        const ByteView key = request.header("X-Api-Key");
        return key.empty() ? std::optional<std::string>() : std::string(key);
    }));
    app.get<"/">([] { return "x"; });
    EXPECT_EQ(status("/"), "200");
    EXPECT_EQ(status("/"), "200");
    EXPECT_EQ(status("/", "X-Api-Key: a\r\n"), "200");
    EXPECT_EQ(status("/", "X-Api-Key: a\r\n"), "429");
    EXPECT_EQ(status("/", "X-Api-Key: b\r\n"), "200");
}

TEST_F(RateLimitTest, OfAParameterOfThePath) {
    app.get<"/shops/{shop}/{thing}">([](std::string, std::string) { return "x"; },
                                     rate_limit(one, by_parameter()),
                                     rate_limit({.per_minute = 1, .burst = 2}, by_parameter(1)));
    EXPECT_EQ(status("/shops/a/1"), "200");
    EXPECT_EQ(status("/shops/a/2"), "429");
    EXPECT_EQ(status("/shops/%61/3"), "429") << "the same shop";
    EXPECT_EQ(status("/shops/b/1"), "200");
    EXPECT_EQ(status("/shops/c/1"), "429");
}

TEST_F(RateLimitTest, OfAParameterThatThePatternHasNot) {
    app.use(rate_limit(one, by_parameter(1)));
    app.get<"/{a}">([](std::string a) { return a; });
    app.get<"/{a}/{b}">([](std::string a, std::string b) { return a + b; });
    for (const char* const target : {"/x", "/x", "/none/at/all", "/none/at/all"}) {
        EXPECT_NE(status(target), "429") << target;
    }
    EXPECT_EQ(status("/x/y"), "200");
    EXPECT_EQ(status("/z/y"), "429");
}

TEST_F(RateLimitTest, OfTheClientAsWithoutAKey) {
    app.get<"/">([] { return "x"; }, rate_limit(one, by_client));
    EXPECT_EQ(status("/"), "200");
    EXPECT_EQ(status("/"), "429");
}

// Counts by itself, and has no key "broken".
class CountingStore final : public RateStore {
  public:
    task::Task<std::optional<Duration>> take(std::string key,
                                             filter::RateLimitOptions rate) override {
        if (key == "broken") throw std::runtime_error("away");
        if (++seen[key] <= static_cast<int>(rate.burst)) co_return std::nullopt;
        co_return 1500ms;
    }
    std::map<std::string, int> seen;
};

TEST_F(RateLimitTest, InAStore) {
    const auto store = std::make_shared<CountingStore>();
    const auto key = [](const Request& request) -> std::optional<std::string> {
        if (request.header("X-User").empty()) return std::nullopt;
        return std::string(request.header("X-User"));
    };
    app.get<"/">([] { return "x"; }, rate_limit({.per_minute = 9, .burst = 2}, key, store));
    EXPECT_EQ(status("/"), "200");
    EXPECT_EQ(store->seen.size(), 0U) << "without a key";
    EXPECT_EQ(status("/", "X-User: a\r\n"), "200");
    EXPECT_EQ(status("/", "X-User: a\r\n"), "200");
    const std::string refused = ask("GET", "/", "X-User: a\r\n");
    EXPECT_EQ(status_of(refused), "429");
    EXPECT_NE(refused.find("Retry-After: 2\r\n"), std::string::npos) << refused;
    EXPECT_EQ(status("/", "X-User: b\r\n"), "200");
    EXPECT_EQ(status("/", "X-User: broken\r\n"), "500");
    EXPECT_EQ(store->seen, (std::map<std::string, int>{{"a", 3}, {"b", 1}}));
}

// However many strangers come, a new key has its whole limit: it takes the place of one of them.
// Its hash can be the one of a stranger beside it, which is one key in 16,384.
TEST_F(RateLimitTest, AFullTableRefusesNoNewKey) {
    filter::RateTable table(one);
    const Instant now = world.loop().now();
    std::size_t refused = 0;
    constexpr std::size_t strangers = 2 * filter::RateTable::cells;
    for (std::size_t i = 0; i < strangers; ++i) {
        if (table.take("stranger " + std::to_string(i), now)) ++refused;
    }
    EXPECT_LT(refused, strangers / 1'000);
}

}  // namespace
}  // namespace tiderace::http
