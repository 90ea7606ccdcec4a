#include "server/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "server/site/about.h"
#include "tiderace/testing/temporary_folder.h"
#include "tiderace/testing/world.h"

namespace tiderace::server {
namespace {

using testing::Peer;
using testing::World;

class WorkerTest : public ::testing::TestWithParam<std::string> {
  protected:
    WorkerTest() {
        folder_.write("index.html", "<p>tide</p>\n");
        folder_.write("oops.html", "<p>lost at sea</p>\n");
        options_.root = folder_.path();
        options_.listen_is_default = false;  // then any Host is answered
        parts_.options = &options_;
    }
    std::unique_ptr<Peer> connect() {
        if (worker_ == nullptr) {
            worker_ = std::move(*create());
            server_.emplace(world_->loop(), worker_->sessions(place_), net::TcpServerOptions{});
            server_->listen(world_->listen());
        }
        return world_->connect();
    }
    void end() {
        server_.reset();
        worker_.reset();
    }
    Result<std::unique_ptr<Worker>> create() {
        parts_.generation =
            *make_generation({.options = options_, .sites = {{.options = options_}}}, nullptr,
                             {.password_pool = &pool_,
                              .redirects = !options_.tls.https_redirect.empty(),
                              .encrypted_port = 4'443});
        return Worker::create(world_->loop(), parts_);
    }
    // Asks on a connection of its own and waits for its end.
    std::string answer(const std::string& target, const std::string& fields = "") {
        const auto peer = connect();
        peer->say("GET " + target + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + fields +
                  "\r\n");
        EXPECT_TRUE(over(*peer));
        return peer->heard();
    }
    // Also where another thread has a part in it, for which no world waits.
    bool over(Peer& peer) {
        const core::SystemClock clock;
        for (const Instant end = clock.now() + 100s; !peer.over() && clock.now() < end;) {
            world_->settle();
        }
        return peer.over();
    }

    testing::TemporaryFolder folder_;
    ServeOptions options_;
    core::WorkerPool pool_{1, 10};
    SharedParts parts_;
    std::unique_ptr<World> world_ = testing::make_world(GetParam());
    std::unique_ptr<Worker> worker_;
    std::size_t place_ = 0;
    std::optional<net::TcpServer> server_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, WorkerTest, ::testing::ValuesIn(testing::main_world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

TEST_P(WorkerTest, AnEchoSpeaksNoHttp) {
    options_.echo = true;
    const auto peer = connect();
    peer->say("GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(world_->run_until([&] { return peer->heard() == "GET / HTTP/1.1\r\n\r\n"; }));
}

TEST_P(WorkerTest, ServesItsFolder) {
    const std::string text = answer("/");
    EXPECT_THAT(text, ::testing::StartsWith("HTTP/1.1 200 OK\r\nServer: tiderace/"));
    EXPECT_THAT(text, ::testing::EndsWith("\r\n\r\n<p>tide</p>\n"));
    EXPECT_EQ(&worker_->loop(), &world_->loop());
}

TEST_P(WorkerTest, GivesErrorsAPage) {
    EXPECT_THAT(answer("/missing", "Accept: text/html\r\n"),
                ::testing::HasSubstr("Content-Type: text/html"));
    EXPECT_THAT(answer("/missing", "Accept: application/json\r\n"),
                ::testing::HasSubstr("Content-Type: application/problem+json"));
}

TEST_P(WorkerTest, GivesErrorsTheOperatorsOwnPage) {
    options_.error_pages = {{404, "oops.html"}};
    EXPECT_THAT(answer("/missing"), ::testing::HasSubstr("lost at sea"));
}

TEST_P(WorkerTest, DoesWhatItsOptionsSay) {
    options_.server_header = false;
    options_.added_headers = {{"X-Own", "mine"}};
    options_.cors_origin = "https://tide.example";
    options_.about = true;
    options_.limits.request_line_bytes_max = 200;
    const std::string text = answer("/", "Origin: https://tide.example\r\n");
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("Server:")));
    EXPECT_THAT(text, ::testing::HasSubstr("X-Own: mine\r\n"));
    EXPECT_THAT(text,
                ::testing::HasSubstr("Access-Control-Allow-Origin: https://tide.example\r\n"));
    EXPECT_THAT(answer(std::string(About::path)), ::testing::HasSubstr("\"engine\":\""));
    const std::string refused = answer("/" + std::string(200, 'x'));
    EXPECT_THAT(refused, ::testing::StartsWith("HTTP/1.1 414 "));
    EXPECT_THAT(refused, ::testing::HasSubstr("X-Own: mine\r\n"));
}

TEST_P(WorkerTest, ATimeoutOfZeroIsNone) {
    options_.timeouts.header = options_.timeouts.idle = Duration::zero();
    const auto peer = connect();
    peer->say("GET / HT");
    world_->advance(24h);
    EXPECT_FALSE(peer->over());
}

TEST_P(WorkerTest, ItsPlainPlacesLeadToTheEncryptedOnes) {
    folder_.write(".well-known/acme-challenge/token", "a token\n");
    options_.tls.https_redirect = {"127.0.0.1:0"};
    place_ = options_.listen.size();
    EXPECT_THAT(answer("/a?b"), ::testing::HasSubstr("\r\nLocation: https://a:4443/a?b\r\n"));
    EXPECT_THAT(answer("/.well-known/acme-challenge/token"), ::testing::EndsWith("\na token\n"));
    EXPECT_EQ(worker_->layer(place_), nullptr);
}

TEST_P(WorkerTest, AsksForAPasswordWithoutLosingBodiesOrOrder) {
    options_.basic_auth = {"ebb:flow"};
    EXPECT_THAT(answer("/"), ::testing::StartsWith("HTTP/1.1 401 "));
    const std::string known = "Authorization: Basic ZWJiOmZsb3c=\r\n";
    EXPECT_THAT(answer("/", known), ::testing::StartsWith("HTTP/1.1 200 "));
    const auto peer = connect();
    peer->say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n" + known +
              "\r\nGET GET / HTTP/1.1\r\n" + "Host: a\r\nConnection: close\r\n" + known + "\r\n");
    ASSERT_TRUE(over(*peer));
    EXPECT_THAT(peer->heard(), ::testing::StartsWith("HTTP/1.1 405 "));
    EXPECT_THAT(peer->heard(), ::testing::EndsWith("<p>tide</p>\n"));
    end();  // before the pool
}

TEST_P(WorkerTest, WritesItsAccessLog) {
    options_.access_log = folder_.path_of("log");
    options_.log_format = LogFormat::common;
    std::optional<serve::LogFiles> logs(std::in_place);
    ASSERT_TRUE(logs->open(options_.access_log));
    ASSERT_TRUE(logs->writer().start());
    parts_.logs = &*logs;
    answer("/");
    answer("/missing");
    end();
    logs->writer().stop();
    std::ifstream file(options_.access_log);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(text, ::testing::HasSubstr("\"GET / HTTP/1.1\" 200 12\n"));
    EXPECT_THAT(text, ::testing::HasSubstr("\"GET /missing HTTP/1.1\" 404 "));
}

TEST_P(WorkerTest, UnreadableFilesAreReportedAtTheStart) {
    options_.root = folder_.path_of("absent");
    const auto without_root = create();
    ASSERT_FALSE(without_root.has_value());
    EXPECT_THAT(without_root.error().message(), ::testing::HasSubstr("absent"));
    options_.root = folder_.path();
    options_.error_pages = {{404, "absent.html"}};
    const auto without_page = create();
    ASSERT_FALSE(without_page.has_value());
    EXPECT_THAT(without_page.error().message(), ::testing::HasSubstr("absent.html"));
}

}  // namespace
}  // namespace tiderace::server
