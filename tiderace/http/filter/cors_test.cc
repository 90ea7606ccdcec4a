#include "tiderace/http/filter/cors.h"

#include <gtest/gtest.h>

#include "tiderace/http/site_loop.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http::filter {
namespace {

class Hello final : public Handler {
  public:
    void handle(Exchange& exchange) override {
        Response response;
        response.set_body("hello");
        exchange.respond(response);
    }
};

class CorsTest : public ::testing::Test {
  protected:
    testing::RecordedExchange& ask(Cors& cors, std::string_view method,
                                   testing::RecordedExchange::Fields fields) {
        site_ = std::make_unique<SiteLoop>(hello_);
        site_->add(static_cast<AccessRule&>(cors));
        site_->add(static_cast<ResponseFilter&>(cors));
        exchange_ = core::make_ref<testing::RecordedExchange>(*loop_, method, "/", fields);
        site_->serve(*exchange_);
        return *exchange_;
    }

    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    Hello hello_;
    std::unique_ptr<SiteLoop> site_;
    core::Ref<testing::RecordedExchange> exchange_;
};

TEST_F(CorsTest, APreflightIsAnsweredBeforeTheHandler) {
    Cors cors({});
    auto& answer = ask(cors, "OPTIONS",
                       {{"Origin", "https://a.example"},
                        {"Access-Control-Request-Method", "PUT"},
                        {"Access-Control-Request-Headers", "x-token"}});
    EXPECT_EQ(answer.status(), 204);
    EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "*");
    EXPECT_EQ(answer.header("Access-Control-Allow-Methods"), "PUT") << "the handler takes all";
    EXPECT_EQ(answer.header("Access-Control-Allow-Headers"), "x-token");
    EXPECT_EQ(answer.header("Access-Control-Max-Age"), "600");
}

TEST_F(CorsTest, OptionsThatIsNoPreflightReachesTheHandler) {
    Cors cors({});
    EXPECT_EQ(ask(cors, "OPTIONS", {{"Origin", "https://a.example"}}).body(), "hello");
    EXPECT_EQ(ask(cors, "OPTIONS", {{"Access-Control-Request-Method", "PUT"}}).body(), "hello");
}

TEST_F(CorsTest, OnlyNamedOriginsAreLetIn) {
    Cors cors({.origins = {"https://good.example"}});
    auto& good = ask(cors, "GET", {{"Origin", "https://good.example"}});
    EXPECT_EQ(good.header("Access-Control-Allow-Origin"), "https://good.example");
    EXPECT_EQ(good.header("Vary"), "Origin");
    for (const char* origin : {"https://good.example.evil", "https://evil", "null",
                               "http://good.example", "https://GOOD.example"}) {
        auto& bad = ask(cors, "GET", {{"Origin", origin}});
        EXPECT_EQ(bad.status(), 200) << origin;
        EXPECT_FALSE(bad.has("Access-Control-Allow-Origin")) << origin;
        EXPECT_EQ(bad.header("Vary"), "Origin") << origin;
    }
    EXPECT_EQ(ask(cors, "GET", {}).header("Vary"), "Origin");
}

TEST_F(CorsTest, CredentialsAreNeverGivenToEverybodyAtOnce) {
    Cors cors({.credentials = true});
    auto& answer = ask(cors, "GET", {{"Origin", "https://a.example"}});
    EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "https://a.example");
    EXPECT_EQ(answer.header("Access-Control-Allow-Credentials"), "true");
}

}  // namespace
}  // namespace tiderace::http::filter
