#include "server/path/path_rules.h"

#include <gtest/gtest.h>

#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

using Fields = testing::RecordedExchange::Fields;

class PathRulesTest : public ::testing::Test, public http::Handler {
  protected:
    void handle(http::Exchange& exchange) override {
        http::Response response(200);
        response.add(http::wire::FieldName::content_type, "text/plain");
        response.set_body(text_);
        exchange.respond(response);
    }
    core::Ref<testing::RecordedExchange> request(std::string_view path, Fields fields = {},
                                                 std::string_view method = "GET") {
        auto exchange =
            core::make_ref<testing::RecordedExchange>(*loop_, method, path, std::move(fields));
        site_.serve(*exchange);
        for (int i = 0; i < 10'000 && !exchange->responded(); ++i) loop_->turn(5ms);
        return exchange;
    }
    int status(std::string_view path, Fields fields = {}) {
        return request(path, std::move(fields))->status();
    }

    const std::string text_ = std::string(4'000, 'a');
    testing::TemporaryFolder folder_;
    ServeOptions options_;
    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    http::Site site_{*this};
    PathRules rules_{options_};
};

const Fields ada{{"Authorization", "Basic YWRhOmE="}};  // ada:a
const Fields bob{{"Authorization", "Basic Ym9iOmI="}};  // bob:b

TEST_F(PathRulesTest, EachPathHasUsersOfItsOwn) {
    core::WorkerPool pool(1, 10);
    options_.basic_auth = {"ada:a"};
    options_.paths.auth = {
        {"/b", "bob:b"}, {"/b/open", "off"}, {"/both", "off"}, {"/both", "bob:b"}};
    auto passwords = load_passwords(options_);
    ASSERT_TRUE(passwords);
    passwords->pool = &pool;
    rules_.make_passwords(*loop_, *passwords);
    rules_.add_passwords(site_);
    for (const char* path : {"/", "/bb"}) {
        EXPECT_EQ(status(path), 401);
        EXPECT_EQ(status(path, bob), 401);
        EXPECT_EQ(status(path, ada), 200);
        EXPECT_TRUE(rules_.asks_password(path));
    }
    for (const char* path : {"/b", "/b/x", "/both"}) {
        EXPECT_EQ(status(path), 401) << path;
        EXPECT_EQ(status(path, ada), 401) << path;
        EXPECT_EQ(status(path, bob), 200) << path;
    }
    EXPECT_EQ(status("/b/open/x"), 200);
    EXPECT_FALSE(rules_.asks_password("/b/open"));
    loop_.reset();  // before the pool
}

TEST_F(PathRulesTest, OpenPathsAskNobody) {
    const auto passwords = load_passwords(options_);
    ASSERT_TRUE(passwords);
    EXPECT_FALSE(passwords->any());
    rules_.make_passwords(*loop_, *passwords);
    rules_.add_passwords(site_);
    EXPECT_EQ(status("/"), 200);
    EXPECT_FALSE(rules_.asks_password("/"));
    options_.paths.auth = {{"/a", folder_.path_of("absent")}};
    EXPECT_FALSE(load_passwords(options_)) << "no file, no start";
}

TEST_F(PathRulesTest, ARateIsOfItsPathAndOfAllLoops) {
    options_.paths.rates = {{"/log", http::filter::RateLimitOptions{.per_minute = 1, .burst = 2}},
                            {"/log/free", {}}};
    const PathRates rates = make_path_rates(options_);
    rules_.add_rates(site_, rates);
    PathRules other_loop(options_);
    http::Site other_site(*this);
    other_loop.add_rates(other_site, rates);
    EXPECT_EQ(status("/log"), 200);
    const auto elsewhere =
        core::make_ref<testing::RecordedExchange>(*loop_, "GET", "/log/x", Fields{});
    other_site.serve(*elsewhere);
    EXPECT_EQ(elsewhere->status(), 200);
    EXPECT_EQ(status("/log"), 429);
    EXPECT_EQ(status("/log/free"), 200);
    EXPECT_EQ(status("/logs"), 200);
}

TEST_F(PathRulesTest, FieldsAddUpAndTheNearestWins) {
    options_.paths.headers = {{"/a/b", {"X-Where", "b"}},
                              {"/a", {"X-Where", "a"}},
                              {"/a", {"X-A", "1"}},
                              {"/c", {"X-Where", "c"}}};
    rules_.add_fields(site_);
    const auto field = [&](std::string_view path, std::string_view name) {
        return request(path)->field(name);
    };
    EXPECT_EQ(field("/a", "X-Where"), "a");
    EXPECT_EQ(field("/a/b/x", "X-Where"), "b");
    EXPECT_EQ(field("/a/b/x", "X-A"), "1");
    EXPECT_EQ(field("/", "X-Where"), "");
}

// The build may lack a library, but gzip's is always there with compression.
TEST_F(PathRulesTest, EachPathIsCompressedInCodingsOfItsOwn) {
    options_.compress.codings = {.gzip = true, .zstd = false, .br = false};
    options_.paths.compress = {{"/api", {}}, {"/api/open", {.gzip = true}}, {"/none", {}}};
    rules_.add_compression(site_);
    const Fields accepts{{"Accept-Encoding", "gzip"}};
    for (const char* path : {"/", "/apis", "/api/open", "/api/open/x"}) {
        const auto answer = request(path, accepts);
        EXPECT_EQ(answer->field("Content-Encoding"), "gzip") << path;
        EXPECT_EQ(answer->field("Vary"), "Accept-Encoding") << path;
        EXPECT_TRUE(codings_by_path(options_).find(path)->gzip) << path;
    }
    for (const char* path : {"/api", "/api/x", "/none"}) {
        const auto answer = request(path, accepts);
        EXPECT_EQ(answer->field("Content-Encoding"), "") << path;
        EXPECT_EQ(answer->field("Vary"), "") << path;
        EXPECT_FALSE(codings_by_path(options_).find(path)->any()) << path;
    }
}

TEST_F(PathRulesTest, APathIsCompressedWhereTheSiteIsNot) {
    options_.compress.codings = {};
    EXPECT_FALSE(compresses(options_));
    options_.paths.compress = {{"/docs", {.gzip = true}}};
    EXPECT_TRUE(compresses(options_));
    rules_.add_compression(site_);
    const Fields accepts{{"Accept-Encoding", "gzip"}};
    EXPECT_EQ(request("/docs/a", accepts)->field("Content-Encoding"), "gzip");
    EXPECT_EQ(request("/", accepts)->field("Content-Encoding"), "");
}

}  // namespace
}  // namespace tiderace::server
