#include "tiderace/http/route_match.h"

#include <gtest/gtest.h>

#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http {
namespace {

using testing::RecordedExchange;
using enum wire::Method;

class RouteMatchTest : public ::testing::Test {
  protected:
    bool holds(const RouteMatch& match, std::string_view target, std::string_view method = "GET",
               RecordedExchange::Fields fields = {}) {
        const auto exchange =
            core::make_ref<RecordedExchange>(world_.loop(), method, target, std::move(fields));
        if (client_) exchange->set_client(*client_, is_secure_);
        return match.conditions_hold(exchange->request());
    }

    testing::FakeWorld world_;
    std::optional<core::Address> client_;
    bool is_secure_ = false;
};

TEST_F(RouteMatchTest, AFieldIsThereOrNotOrHasAValue) {
    const RouteMatch present{.header = {{.name = "X-A"}}};
    const RouteMatch absent{.header = {{.name = "X-A", .is_absent = true}}};
    const RouteMatch valued{.header = {{.name = "X-A", .value = "a/*?"}}};
    EXPECT_FALSE(holds(present, "/"));
    EXPECT_TRUE(holds(absent, "/"));
    EXPECT_TRUE(holds(present, "/", "GET", {{"x-a", ""}}));
    EXPECT_FALSE(holds(absent, "/", "GET", {{"x-a", ""}}));
    EXPECT_TRUE(holds(valued, "/", "GET", {{"X-A", "b"}, {"X-A", "a/b/c"}})) << "one is enough";
    EXPECT_FALSE(holds(valued, "/", "GET", {{"X-A", "a/"}}));
}

TEST_F(RouteMatchTest, TheQueryIsDecoded) {
    const RouteMatch valued{.query = {{.name = "v w", .value = "a/*"}}};
    EXPECT_TRUE(holds(valued, "/?v+w=a%2Fb"));
    EXPECT_TRUE(holds(valued, "/?x&v%20w=b&v%20w=a/b/c"));
    EXPECT_FALSE(holds(valued, "/?v=a/b"));
    EXPECT_FALSE(holds(valued, "/"));
    const RouteMatch absent{.query = {{.name = "v", .is_absent = true}}};
    EXPECT_TRUE(holds(absent, "/?w=v"));
    EXPECT_FALSE(holds(absent, "/?v"));
}

TEST_F(RouteMatchTest, AHeadAndAPreflightAreAboutTheMethodThatTheyStandFor) {
    const RouteMatch gets{.methods = {get}};
    const RouteMatch puts{.methods = {put, post}};
    const RecordedExchange::Fields from_a_page{{"Origin", "https://a.example"},
                                               {"Access-Control-Request-Method", "PUT"}};
    EXPECT_FALSE(holds(puts, "/", "OPTIONS", {{"Access-Control-Request-Method", "PUT"}}))
        << "no browser leaves out Origin";
    EXPECT_TRUE(holds(gets, "/", "HEAD"));
    EXPECT_FALSE(holds(puts, "/", "HEAD"));
    EXPECT_FALSE(holds(puts, "/", "OPTIONS"));
    EXPECT_TRUE(holds(puts, "/", "OPTIONS", from_a_page));
    EXPECT_FALSE(holds(gets, "/", "OPTIONS", from_a_page));
    const RouteMatch asks{.methods = {options}};
    EXPECT_TRUE(holds(asks, "/", "OPTIONS", from_a_page)) << "it is an OPTIONS all the same";
}

TEST_F(RouteMatchTest, TheClientsAddressAndScheme) {
    const RouteMatch local{
        .remote = {*net::Network::parse("10.0.0.0/8"), *net::Network::parse("::1")}};
    const RouteMatch plain{.secure = false};
    client_ = *core::Address::parse("10.1.2.3:4");
    EXPECT_TRUE(holds(local, "/"));
    EXPECT_TRUE(holds(plain, "/"));
    client_ = *core::Address::parse("11.1.2.3:4");
    is_secure_ = true;
    EXPECT_FALSE(holds(local, "/"));
    EXPECT_FALSE(holds(plain, "/"));
}

TEST_F(RouteMatchTest, AllConditionsHold) {
    const RouteMatch both{.methods = {get}, .header = {{.name = "X-A"}, {.name = "X-B"}}};
    EXPECT_EQ(both.conditions(), 3U);
    EXPECT_TRUE(holds(both, "/", "GET", {{"X-A", "1"}, {"X-B", "1"}}));
    EXPECT_FALSE(holds(both, "/", "GET", {{"X-A", "1"}}));
    EXPECT_FALSE(holds(both, "/", "POST", {{"X-A", "1"}, {"X-B", "1"}}));
    EXPECT_EQ(RouteMatch{}.conditions(), 0U);
}

}  // namespace
}  // namespace tiderace::http
