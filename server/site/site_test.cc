#include "server/site/site.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "server/site/about.h"
#include "tiderace/http/coding/encoder_pool.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/task/runner.h"
#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::server {
namespace {

using Fields = testing::RecordedExchange::Fields;

class SiteTest : public ::testing::Test, public http::Handler {
  protected:
    // The site on one loop.
    struct OnLoop {
        OnLoop(const std::shared_ptr<const http::Site>& site, core::EventLoop& loop,
               http::Handler& answers)
            : runner(loop) {
            const std::shared_ptr<http::Handler> all(std::shared_ptr<void>(), &answers);
            sites.assign(3, {.answers = all, .redirects = all, .pages = pages});
            states.add({http::state_key<LoopSites>, &sites});
            states.add({http::state_key<http::coding::EncoderPool>, encoders.get()});
            http::LayerPlace place{loop, nullptr, runner, states};
            serves.emplace(site, place);
            EXPECT_FALSE(place.fault);
        }
        std::shared_ptr<http::filter::ErrorPages> pages =
            std::make_shared<http::filter::ErrorPages>();
        LoopSites sites;
        core::Ref<http::coding::EncoderPool> encoders = core::make_ref<http::coding::EncoderPool>();
        http::States states;
        task::Runner runner;
        std::optional<http::SiteLoop> serves;
    };

    void handle(http::Exchange& exchange) override {
        authenticated_ = http::is_authenticated(exchange);
        http::Response response(200);
        response.add(http::wire::FieldName::content_type, "text/plain");
        response.set_body(text_);
        exchange.respond(response);
    }
    // The site of the options, made when it is first asked.
    OnLoop& site() {
        if (!site_) {
            // Unless the test has made them.
            if (!has_sites_) sites_ = {{.options = options_, .passwords = passwords_}};
            site_ = std::make_shared<const http::Site>(make_site(sites_, {}));
        }
        if (!here_) here_.emplace(site_, *loop_, *this);
        return *here_;
    }
    Route& route(std::string_view path) {
        return route_of(options_.routes, {.path = std::string(path)});
    }
    core::Ref<testing::RecordedExchange> request(std::string_view path, Fields fields = {},
                                                 std::string_view method = "GET") {
        auto exchange =
            core::make_ref<testing::RecordedExchange>(*loop_, method, path, std::move(fields));
        site().serves->serve(*exchange);
        for (int i = 0; i < 10'000 && !exchange->responded(); ++i) loop_->turn(5ms);
        return exchange;
    }
    int status(std::string_view path, Fields fields = {}) {
        return request(path, std::move(fields))->status();
    }
    // The log that a path's requests go to; "": none.
    std::string log_of(std::string_view path) {
        std::map<std::string, NoLog> logs;
        site().serves->set_log(
            nullptr, [&](const http::AccessLogTarget& target) { return &logs[target.path]; });
        const auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", path);
        const http::AccessLog* const log = site().serves->chain_of(exchange->request()).log;
        for (const auto& [name, each] : logs) {
            if (&each == log) return name;
        }
        return "";
    }
    struct NoLog final : http::AccessLog {
        void write(const http::AccessRecord&) override {}
    };

    const std::string text_ = std::string(4'000, 'a');
    testing::TemporaryFolder folder_;
    ServeOptions options_;
    SharedPasswords passwords_;
    PasswordFiles known_;
    std::vector<ServedSite> sites_;
    bool has_sites_ = false;
    bool authenticated_ = false;
    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    std::shared_ptr<const http::Site> site_;
    std::optional<OnLoop> here_;
};

TEST_F(SiteTest, WhereNobodyChoseAnAddressOnlyNamesOfThisMachineAreAnswered) {
    route("/b").headers = {{"X-B", "b"}};
    options_.about = true;
    std::array<char, 256> name{};
    ASSERT_EQ(::gethostname(name.data(), name.size() - 1), 0);
    const auto status_as = [&](const std::string& host, std::string_view path) {
        auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", path, Fields{});
        exchange->set_authority(host);
        site().serves->serve(*exchange);
        return exchange->status();
    };
    struct Case {
        bool is_default;
        std::string listen;
        int status;  // of a request for another name
    };
    const std::vector<Case> cases{{true, "127.0.0.1:8080", 421},
                                  {true, "127.0.0.1:8443", 421},
                                  {true, "0.0.0.0:80", 200},
                                  {false, "127.0.0.1:8080", 200}};
    for (const Case& each : cases) {
        site_.reset();
        here_.reset();
        options_.listen_is_default = each.is_default;
        options_.listen = {each.listen};
        for (const char* const path : {"/", "/b/c", "/.well-known/tiderace.json"}) {
            EXPECT_EQ(status_as("evil.example:8080", path), each.status) << path;
            for (const std::string host : {"localhost:8080", "127.0.0.1", "[::1]:8080"}) {
                EXPECT_EQ(status_as(host, path), 200) << host << path;
            }
            EXPECT_EQ(status_as(name.data(), path), 200) << path;
        }
    }
}

TEST_F(SiteTest, PasswordsOfManySitesAreHashedOnce) {
    options_.basic_auth = {"ada:a"};
    const auto a = load_passwords(options_, known_);
    const auto b = load_passwords(options_, known_);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->of({"ada:a"}), b->of({"ada:a"}));
    options_.basic_auth = {"ada:b"};
    EXPECT_NE(load_passwords(options_, known_)->of({"ada:b"}), a->of({"ada:a"}));
}

TEST_F(SiteTest, ASiteForEveryHostThatHasNamesAnswersForThemWhereNobodyChoseAnAddress) {
    options_.listen = {"127.0.0.1:8080"};
    ServedSite rest{.hosts = {"a.example", "*.a.example"}, .options = options_};
    const ServedSite b{.hosts = {"b.example"}, .is_default = false, .options = options_};
    has_sites_ = true;
    for (const std::vector<ServedSite>& sites : {std::vector{rest}, std::vector{rest, b}}) {
        site_.reset();
        here_.reset();
        sites_ = sites;
        const auto of = [&](std::string_view host) {
            auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", "/");
            exchange->set_authority(host);
            site().serves->serve(*exchange);
            return exchange->status();
        };
        EXPECT_EQ(of("a.example:8080"), 200);
        EXPECT_EQ(of("x.a.example"), 200);
        EXPECT_EQ(of("localhost"), 200);
        EXPECT_EQ(of("evil.example"), 421);
    }
}

const Fields ada{{"Authorization", "Basic YWRhOmE="}};  // ada:a
const Fields bob{{"Authorization", "Basic Ym9iOmI="}};  // bob:b

TEST_F(SiteTest, EachPathHasUsersOfItsOwn) {
    core::WorkerPool pool(1, 10);
    options_.basic_auth = {"ada:a"};
    for (const char* const path : {"/b", "/both"}) {
        route(path).auth = std::vector<std::string>{"bob:b"};
    }
    route("/b/open").auth.emplace();
    auto passwords = load_passwords(options_, known_);
    ASSERT_TRUE(passwords);
    passwords_ = std::move(*passwords);
    passwords_.pool = &pool;
    for (const char* path : {"/", "/bb"}) {
        EXPECT_EQ(status(path), 401);
        EXPECT_EQ(status(path, bob), 401);
        EXPECT_EQ(status(path, ada), 200);
        EXPECT_TRUE(authenticated_) << "programs see the name alone";
    }
    for (const char* path : {"/b", "/b/x", "/both"}) {
        EXPECT_EQ(status(path), 401) << path;
        EXPECT_EQ(status(path, ada), 401) << path;
        EXPECT_EQ(status(path, bob), 200) << path;
    }
    EXPECT_EQ(status("/b/open/x"), 200);
    EXPECT_FALSE(authenticated_);
    here_.reset();
    loop_.reset();  // before the pool
}

TEST_F(SiteTest, OpenPathsAskNobody) {
    const auto passwords = load_passwords(options_, known_);
    ASSERT_TRUE(passwords);
    EXPECT_FALSE(passwords->any());
    EXPECT_EQ(status("/"), 200);
    EXPECT_FALSE(authenticated_);
    route("/a").auth = std::vector<std::string>{folder_.path_of("absent")};
    EXPECT_FALSE(load_passwords(options_, known_)) << "no file, no start";
}

TEST_F(SiteTest, ARateIsOfItsPathAndOfAllLoops) {
    route("/log").rate = {http::filter::RateLimitOptions{.per_minute = 1, .burst = 2}};
    route("/log/free").rate.emplace();
    EXPECT_EQ(status("/log"), 200);
    OnLoop other_loop(site_, *loop_, *this);
    const auto elsewhere =
        core::make_ref<testing::RecordedExchange>(*loop_, "GET", "/log/x", Fields{});
    other_loop.serves->serve(*elsewhere);
    EXPECT_EQ(elsewhere->status(), 200);
    EXPECT_EQ(status("/log"), 429);
    EXPECT_EQ(status("/log/free"), 200);
    EXPECT_EQ(status("/logs"), 200);
}

TEST_F(SiteTest, FieldsAddUpAndTheNearestWins) {
    options_.added_headers = {{"X-Site", "1"}};
    route("/a/b").headers = {{"X-Where", "b"}, {"X-Site", std::nullopt}};
    route("/a").headers = {{"X-Where", "a"}, {"X-A", "1"}};
    route("/c").headers = {{"X-Where", "c"}, {"Content-Type", std::nullopt}};
    const auto field = [&](std::string_view path, std::string_view name) {
        return request(path)->header(name);
    };
    EXPECT_EQ(field("/a", "X-Where"), "a");
    EXPECT_EQ(field("/a/b/x", "X-Where"), "b");
    EXPECT_EQ(field("/a/b/x", "X-A"), "1");
    EXPECT_EQ(field("/", "X-Where"), "");
    EXPECT_EQ(field("/a", "X-Site"), "1");
    EXPECT_EQ(field("/a/b", "X-Site"), "") << "taken out";
    EXPECT_EQ(field("/c", "Content-Type"), "");
    EXPECT_EQ(field("/", "Content-Type"), "text/plain");
}

// The build may lack a library, but gzip's is always there with compression.
TEST_F(SiteTest, EachPathIsCompressedInCodingsOfItsOwn) {
    options_.compress.codings = {.gzip = true, .zstd = false, .br = false};
    route("/api").compress.emplace();
    route("/api/open").compress = {.gzip = true};
    route("/none").compress.emplace();
    const Fields accepts{{"Accept-Encoding", "gzip"}};
    for (const char* path : {"/", "/apis", "/api/open", "/api/open/x"}) {
        const auto answer = request(path, accepts);
        EXPECT_EQ(answer->header("Content-Encoding"), "gzip") << path;
        EXPECT_EQ(answer->header("Vary"), "Accept-Encoding") << path;
        EXPECT_TRUE(CodingsByPath(options_).of(path).gzip) << path;
    }
    for (const char* path : {"/api", "/api/x", "/none"}) {
        const auto answer = request(path, accepts);
        EXPECT_EQ(answer->header("Content-Encoding"), "") << path;
        EXPECT_EQ(answer->header("Vary"), "") << path;
        EXPECT_FALSE(CodingsByPath(options_).of(path).any()) << path;
    }
}

TEST_F(SiteTest, APathIsCompressedWhereTheSiteIsNot) {
    options_.compress.codings = {};
    EXPECT_FALSE(compresses(options_));
    route("/docs").compress = {.gzip = true};
    EXPECT_TRUE(compresses(options_));
    const Fields accepts{{"Accept-Encoding", "gzip"}};
    EXPECT_EQ(request("/docs/a", accepts)->header("Content-Encoding"), "gzip");
    EXPECT_EQ(request("/", accepts)->header("Content-Encoding"), "");
}

TEST_F(SiteTest, TheLogOfTheLongestPathCounts) {
    options_.access_log = "all";
    route("/api").log = "api";
    route("/api/deep").log = "deep";
    route("/healthz").log = "off";
    route("/b").log = "deep";
    for (const char* path : {"/", "/apis", "/ap"}) EXPECT_EQ(log_of(path), "all") << path;
    for (const char* path : {"/api", "/api/", "/api/deeper"}) EXPECT_EQ(log_of(path), "api");
    for (const char* path : {"/api/deep", "/api/deep/x", "/b"}) EXPECT_EQ(log_of(path), "deep");
    for (const char* path : {"/healthz", "/healthz/more"}) EXPECT_EQ(log_of(path), "");
    EXPECT_EQ(access_logs(options_), (std::vector<std::string>{"all", "api", "deep"}));
}

TEST_F(SiteTest, AllPathsMayHaveAnotherLog) {
    options_.access_log = "all";
    route("").log = "deep";
    EXPECT_EQ(log_of("/"), "deep");
    EXPECT_EQ(log_of("/a"), "deep");
}

TEST_F(SiteTest, AboutAnswersStrangersAndOnlyThem) {
    core::WorkerPool pool(1, 10);
    options_.about = true;
    options_.basic_auth = {"ada:a"};
    route("/.well-known").headers = {{"X-Where", "known"}};
    passwords_ = std::move(*load_passwords(options_, known_));
    passwords_.pool = &pool;
    const std::string path(About::path);
    EXPECT_EQ(request(path)->header("Content-Type"), "application/json");
    EXPECT_EQ(request(path, {}, "HEAD")->status(), 200);
    EXPECT_EQ(request(path, {}, "POST")->status(), 401) << "a file, as any other";
    EXPECT_EQ(request(path, ada, "POST")->header("X-Where"), "known");
    EXPECT_EQ(status(path + "/"), 401);
    EXPECT_EQ(status("/"), 401);
    here_.reset();
    loop_.reset();  // before the pool
}

// Braces are characters of a path here, as any other.
TEST_F(SiteTest, APrefixIsNoPattern) {
    route("/{x}").headers = {{"X-Where", "braces"}};
    route("/a{b").headers = {{"X-Where", "brace"}};
    EXPECT_EQ(request("/{x}")->header("X-Where"), "braces");
    EXPECT_EQ(request("/{x}/y")->header("X-Where"), "braces");
    EXPECT_EQ(request("/a{b/c")->header("X-Where"), "brace");
    EXPECT_EQ(request("/y")->header("X-Where"), "");
}

TEST_F(SiteTest, AnyMethodAndAQuestionAboutTheServer) {
    route("/old").reply = {.target = "/new{rest}"};
    route("/old/here").reply.emplace();
    EXPECT_EQ(request("/old/x", {}, "DELETE")->header("Location"), "/new/x");
    EXPECT_EQ(request("/old/here/x", {}, "DELETE")->status(), 200);
    EXPECT_EQ(request("*", {}, "OPTIONS")->status(), 204);
}

TEST_F(SiteTest, APathAloneIsNotWhatIsBelowIt) {
    route("=/feed").reply = {.target = "/feed.xml"};
    route("=/feed").headers = {{"X-Feed", "1"}};
    route("/gone").reply = {.status = 410};
    route("/feed").headers = {{"X-Below", "1"}};
    EXPECT_EQ(request("/feed")->header("Location"), "/feed.xml");
    EXPECT_EQ(request("/feed")->header("X-Feed"), "1");
    EXPECT_EQ(request("/feed/x")->status(), 200);
    EXPECT_EQ(request("/feed/x")->header("X-Feed"), "");
    EXPECT_EQ(request("/feed/x")->header("X-Below"), "1");
    EXPECT_EQ(request("/feed")->header("X-Below"), "1") << "the same path, both ways";
    EXPECT_EQ(request("/feeds")->status(), 200);
    EXPECT_EQ(request("/gone/x")->status(), 410);
}

TEST_F(SiteTest, EachHostHasItsOwnRules) {
    ServedSite a{.hosts = {"a.example", "*.a.example"}, .is_default = false, .options = options_};
    a.options.added_headers = {{"X-Site", "a"}};
    ServedSite rest{.hosts = {"special.a.example"}, .options = options_};
    rest.options.whole.reply = FixedReply{.status = 421};
    sites_ = {a, rest};
    has_sites_ = true;
    const auto of = [&](std::string_view host) {
        auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", "/");
        exchange->set_authority(host);
        site().serves->serve(*exchange);
        return exchange;
    };
    EXPECT_EQ(of("a.example")->header("X-Site"), "a");
    EXPECT_EQ(of("WWW.a.example:80")->header("X-Site"), "a");
    EXPECT_EQ(of("b.example")->status(), 421);
    EXPECT_EQ(of("special.a.example")->status(), 421) << "a name counts before a pattern";
}

TEST_F(SiteTest, ThePlainAddressesLeadToTheirHostsRedirects) {
    sites_ = {{.hosts = {"a.example"}, .is_default = false, .options = options_}};
    const auto tree = std::make_shared<const http::Site>(make_redirect_site(sites_));
    OnLoop plain(tree, *loop_, *this);
    const auto ask = [&](std::string_view host) {
        auto exchange = core::make_ref<testing::RecordedExchange>(*loop_, "GET", "/");
        exchange->set_authority(host);
        plain.serves->serve(*exchange);
        return exchange->status();
    };
    EXPECT_EQ(ask("a.example"), 200) << "the handler of the test";
    EXPECT_EQ(ask("b.example"), 404);
}

TEST(FilesOfARoute, KeepWhatTheirPathsSay) {
    const Route all{.match = {.path = ""}, .cache_control = "all"};
    const Route below{.match = {.path = "/a/b"},
                      .compress = http::wire::AvailableCodings{},
                      .cache_control = "below"};
    Route files{.match = {.path = "/a"}, .files = {.listing = true}};
    ServeOptions options;
    options.routes = {all, below, files};
    const auto named = [](const ServeOptions& of) {
        std::vector<std::string> all;
        for (const Route* const each : routes_by_path(of.routes)) {
            if (each->cache_control) all.push_back(*each->cache_control);
        }
        for (const CacheControlRule& rule : of.cache_control) all.push_back(rule.value);
        return all;
    };
    const ServeOptions plain = with_files_of(options, files);
    EXPECT_EQ(named(plain), (std::vector<std::string>{"below", "all"}));
    EXPECT_FALSE(CodingsByPath(plain).of("/a/b/c").any());
    // Its own stands above those around it, whatever part of the path is taken away.
    files.cache_control = "own";
    options.routes = {all, below, files};
    EXPECT_EQ(named(with_files_of(options, files)), (std::vector<std::string>{"below", "own"}));
}

TEST_F(SiteTest, AFolderAroundTheSitesKeepsItsScripts) {
    testing::TemporaryFolder folder;
    folder.make_folder("www/wp");
    ServeOptions options;
    options.root = folder.path_of("www");
    options.routes = {{.match = {.path = "/wp/*.php"}, .fastcgi = *core::Address::parse(":9")},
                      {.match = {.path = "*.php"}, .fastcgi = *core::Address::parse(":9")}};
    const auto of_root = [&](const std::string& name) {
        const Route route{.match = {.path = "/lib"}, .files = {.root = folder.path_of(name)}};
        ServeOptions all = options;
        all.routes.push_back(route);
        return with_files_of(all, route);
    };
    EXPECT_EQ(of_root("www/wp").routes[0].match.path, "/wp/*.php");
    EXPECT_EQ(of_root("").routes[0].match.path, "/www/wp/*.php");
    EXPECT_EQ(of_root("").routes[1].match.path, "*.php");
    folder.make_folder("other");
    EXPECT_EQ(of_root("other").routes[0].match.path, "/wp/*.php");
}

}  // namespace
}  // namespace tiderace::server
