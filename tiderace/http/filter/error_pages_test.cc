#include "tiderace/http/filter/error_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tiderace/http/site_loop.h"
#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::filter {
namespace {

using ::testing::HasSubstr;

class Answers final : public Handler {
  public:
    void handle(Exchange& exchange) override {
        Response response(status);
        if (body != nullptr) response.set_body(body);
        response.explain(explanation);
        exchange.respond(response);
        copied_bytes = response.copied_body().size();
    }
    int status = 404;
    const char* body = nullptr;
    ByteView explanation;
    std::size_t copied_bytes = 0;  // of the page that the answer was given
};

class ErrorPagesTest : public ::testing::Test {
  protected:
    testing::RecordedExchange& ask(std::string_view method, std::string_view accept = "text/html",
                                   std::string_view path = "/") {
        exchange_ = core::make_ref<testing::RecordedExchange>(
            *loop_, method, path,
            testing::RecordedExchange::Fields{{"Accept", std::string(accept)}});
        SiteLoop site(answers_);
        site.add(pages_);
        site.serve(*exchange_);
        return *exchange_;
    }

    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    testing::TemporaryFolder folder_;
    Answers answers_;
    ErrorPages pages_;
    core::Ref<testing::RecordedExchange> exchange_;
};

TEST_F(ErrorPagesTest, EveryErrorHasAPageInBothForms) {
    for (int status = 400; status < 600; ++status) {
        answers_.status = status;
        auto& page = ask("GET");
        EXPECT_EQ(page.status(), status);
        EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
        EXPECT_EQ(page.header("Vary"), "Accept");
        EXPECT_THAT(page.header("Content-Security-Policy"), HasSubstr("default-src 'none'"));
        EXPECT_THAT(page.body(), HasSubstr("<p class=\"code\">" + std::to_string(status)));
        EXPECT_EQ(page.content_length(), static_cast<std::int64_t>(page.body().size()));
        EXPECT_LT(page.body().size(), 4096U);
        auto& json = ask("GET", "application/json");
        EXPECT_EQ(json.header("Content-Type"), "application/problem+json");
        EXPECT_THAT(json.body(), HasSubstr(",\"status\":" + std::to_string(status) + ","));
    }
}

TEST_F(ErrorPagesTest, ThePathIsNamed) {
    EXPECT_THAT(ask("GET", "text/html", "/tide/<b>.html").body(),
                HasSubstr("<code>/tide/&lt;b&gt;.html</code>"));
    EXPECT_THAT(ask("GET", "application/json", "/a\"b").body(), HasSubstr(R"("path":"/a\"b")"));
    EXPECT_THAT(ask("GET", "application/json").body(), ::testing::StartsWith("{\"title\":\""));
    // A cut between the two bytes of an "ö" would leave half a character.
    std::string path = "/";
    for (std::size_t i = 0; i < ErrorPages::path_shown_bytes_max; ++i) path += "\u00f6";
    const std::string body(ask("GET", "text/html", path).body());
    EXPECT_THAT(body, HasSubstr("\u00f6\u2026</code>"));
    EXPECT_LT(body.size(), 4096U);
}

TEST_F(ErrorPagesTest, EveryPageButTheFrontPageLeadsToIt) {
    EXPECT_THAT(ask("GET", "text/html", "/lost").body(), HasSubstr("href=\"/\""));
    EXPECT_THAT(ask("GET", "text/html", "/").body(), ::testing::Not(HasSubstr("href")));
    EXPECT_THAT(ask("GET", "text/html", "/").body(), ::testing::Not(HasSubstr("front page")));
}

TEST_F(ErrorPagesTest, WhatHasABodyOrIsNoErrorIsLeftAlone) {
    answers_.body = "own words";
    EXPECT_EQ(ask("GET").body(), "own words");
    answers_.status = 204;
    answers_.body = nullptr;
    EXPECT_EQ(ask("GET").body(), "");
    EXPECT_FALSE(exchange_->has("Content-Type"));
}

TEST_F(ErrorPagesTest, APageThatWaitsForItsPeerIsNotUsedForAnotherAnswer) {
    ask("GET", "text/html", "/first");
    Response first(404);
    pages_.filter(*exchange_, first);
    ask("GET", "text/html", "/second");
    Response second(404);
    pages_.filter(*exchange_, second);
    EXPECT_THAT(first.copied_body(), HasSubstr("<code>/first</code>"));
    EXPECT_THAT(second.copied_body(), HasSubstr("<code>/second</code>"));
    // Each has an owner, so that an answer that has to wait is not copied.
    EXPECT_TRUE(first.body_owner());
    EXPECT_TRUE(second.body_owner());
}

// A request that the parser or the framing refused: the answer has its sentence as its body.
TEST_F(ErrorPagesTest, ARefusalsSentenceIsInThePage) {
    answers_.status = 431;
    answers_.body = "too large\n";
    answers_.explanation = "\"<b>\" is too large.";
    auto& page = ask("GET");
    EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(page.count("Content-Type"), 1U);
    EXPECT_THAT(page.body(), HasSubstr("<p>&quot;&lt;b&gt;&quot; is too large.</p>"));
    auto& json = ask("GET", "application/json");
    EXPECT_EQ(json.header("Content-Type"), "application/problem+json");
    EXPECT_THAT(json.body(), HasSubstr(R"("detail":"\"\u003cb\u003e\" is too large.")"));
    folder_.write("431.html", "<h1>too many cookies</h1>");
    pages_ = std::move(*ErrorPages::load({{431, folder_.path_of("431.html")}}));
    EXPECT_EQ(ask("GET").body(), "<h1>too many cookies</h1>");
    EXPECT_EQ(ask("HEAD").content_length(), 25);
    EXPECT_EQ(exchange_->body(), "");
}

TEST_F(ErrorPagesTest, ALargePageIsInMemoryOnceHoweverManyAskForIt) {
    const std::string large(ErrorPages::page_bytes_max, 'x');
    folder_.write("404.html", large);
    pages_ = std::move(*ErrorPages::load({{404, folder_.path_of("404.html")}}));
    EXPECT_EQ(ask("GET").body(), large);
    EXPECT_EQ(exchange_->content_length(), static_cast<std::int64_t>(large.size()));
    EXPECT_EQ(answers_.copied_bytes, 0U);
}

TEST_F(ErrorPagesTest, HeadHasTheLengthAndNoBody) {
    EXPECT_GT(ask("HEAD").content_length(), 100);
    EXPECT_EQ(exchange_->body(), "");
}

TEST_F(ErrorPagesTest, TheOperatorsPageComesFirst) {
    folder_.write("lost.html", "<h1>lost at sea</h1>");
    pages_ = std::move(*ErrorPages::load({{404, folder_.path_of("lost.html")}}));
    EXPECT_EQ(ask("GET", "application/json").body(), "<h1>lost at sea</h1>");
    EXPECT_EQ(exchange_->header("Content-Type"), "text/html; charset=utf-8");
    answers_.status = 500;
    EXPECT_THAT(ask("GET").body(), HasSubstr("500"));
}

TEST_F(ErrorPagesTest, AnUnreadablePageIsReportedAtTheStart) {
    const auto absent = ErrorPages::load({{404, folder_.path_of("absent.html")}});
    ASSERT_FALSE(absent);
    EXPECT_THAT(absent.error().message(), HasSubstr("absent.html"));
    EXPECT_FALSE(ErrorPages::load({{404, folder_.path()}}));
    folder_.write("huge.html", std::string(ErrorPages::page_bytes_max + 1, 'x'));
    EXPECT_FALSE(ErrorPages::load({{404, folder_.path_of("huge.html")}}));
}

TEST_F(ErrorPagesTest, APipeOrADeviceIsNoPage) {
    folder_.make_fifo("pipe.html");
    for (const std::string& path : {folder_.path_of("pipe.html"), std::string("/dev/null")}) {
        const auto pages = ErrorPages::load({{404, path}});
        ASSERT_FALSE(pages) << path;
        EXPECT_EQ(
            pages.error().message(),
            "read error page " + path + ": expected a file, found something else of that name");
    }
}

}  // namespace
}  // namespace tiderace::http::filter
