#include "tiderace/http/handler/https_redirect.h"

#include <gtest/gtest.h>

#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http::handler {
namespace {

class Folder final : public Handler {
  public:
    void handle(Exchange& exchange) override {
        Response response;
        response.set_body("a token");
        exchange.respond(response);
    }
};

class HttpsRedirectTest : public ::testing::Test {
  protected:
    testing::RecordedExchange& ask(std::string_view authority, std::string_view target,
                                   std::string_view raw_path = {}, std::uint16_t port = 8443,
                                   std::string_view method = "GET") {
        redirect_ = std::make_unique<HttpsRedirect>(port, folder_);
        exchange_ = core::make_ref<testing::RecordedExchange>(*loop_, method, target);
        exchange_->set_authority(authority);
        if (!raw_path.empty()) exchange_->set_raw_path(raw_path);
        redirect_->handle(*exchange_);
        return *exchange_;
    }
    std::string location(std::string_view authority, std::string_view target,
                         std::string_view raw_path = {}) {
        const auto& answer = ask(authority, target, raw_path);
        return answer.status() == 308 ? answer.header("Location") : "";
    }

    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    Folder folder_;
    std::unique_ptr<HttpsRedirect> redirect_;
    core::Ref<testing::RecordedExchange> exchange_;
};

TEST_F(HttpsRedirectTest, LeadsToTheSameAddressOverHttps) {
    EXPECT_EQ(location("example.org", "/a/b?c=d&e"), "https://example.org:8443/a/b?c=d&e");
    EXPECT_EQ(location("example.org", "/?"), "https://example.org:8443/?");
    EXPECT_EQ(location("example.org", "/a b", "/a%20b"), "https://example.org:8443/a%20b");
}

TEST_F(HttpsRedirectTest, RepeatsEveryLetterAndDigitOfAName) {
    EXPECT_EQ(location("AZ-az_09.example", "/"), "https://AZ-az_09.example:8443/");
}

TEST_F(HttpsRedirectTest, ReplacesThePortByItsOwn) {
    EXPECT_EQ(location("example.org:8080", "/"), "https://example.org:8443/");
    EXPECT_EQ(location("example.org:", "/"), "https://example.org:8443/");
    EXPECT_EQ(location("[::1]:80", "/"), "https://[::1]:8443/");
    EXPECT_EQ(location("[::1]", "/"), "https://[::1]:8443/");
    EXPECT_EQ(location("192.0.2.1:80", "/"), "https://192.0.2.1:8443/");
    EXPECT_EQ(ask("example.org:80", "/x", {}, 443).header("Location"), "https://example.org/x");
}

TEST_F(HttpsRedirectTest, KeepsTheMethodOfARequestThatHasABody) {
    const auto& answer = ask("example.org", "/form", {}, 8443, "POST");
    EXPECT_EQ(answer.status(), 308);
    EXPECT_EQ(answer.content_length(), 0);
}

TEST_F(HttpsRedirectTest, LeadsNowhereElseWhateverThePathSays) {
    EXPECT_EQ(location("example.org", "/evil.example/", "//evil.example/"),
              "https://example.org:8443//evil.example/");
    EXPECT_EQ(location("example.org", "/@evil.example", "/@evil.example"),
              "https://example.org:8443/@evil.example");
    EXPECT_EQ(location("example.org", "/evil.example", "/\\evil.example"),
              "https://example.org:8443/\\evil.example");
}

TEST_F(HttpsRedirectTest, RefusesAHostThatIsNoPlainHost) {
    for (const char* authority :
         {"", "user@evil.example", "a b", "evil.example/", "evil.example?", "evil.example#",
          "evil.example\\", "a:b", "a:99999", "[::1", "::1", "a%2fb", "a;b", "a'b", "a,b"}) {
        const auto& answer = ask(authority, "/");
        EXPECT_EQ(answer.status(), 400) << authority;
        EXPECT_FALSE(answer.has("Location")) << authority;
    }
}

TEST_F(HttpsRedirectTest, RefusesWhatHasNoPath) {
    EXPECT_EQ(ask("example.org", "*", {}, 8443, "OPTIONS").status(), 400);
}

TEST_F(HttpsRedirectTest, IsNotBelievedForEver) {
    EXPECT_EQ(ask("example.org", "/").header("Cache-Control"), "max-age=3600");
}

TEST_F(HttpsRedirectTest, LetsTheChallengesOfACertificateAuthorityReachTheFolder) {
    EXPECT_EQ(ask("example.org", "/.well-known/acme-challenge/x").body(), "a token");
    EXPECT_EQ(ask("", "/.well-known/acme-challenge/x").body(), "a token");
    EXPECT_EQ(ask("example.org", "/.well-known/other").status(), 308);
    EXPECT_EQ(ask("example.org", "/.well-known/acme-challenge").status(), 308);
    // The canonical path decides, not the one that was sent.
    EXPECT_EQ(ask("example.org", "/secret", "/.well-known/acme-challenge/../../secret").status(),
              308);
}

}  // namespace
}  // namespace tiderace::http::handler
