#include "tiderace/serve/http_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tiderace/http/wire/h2/frame.h"
#include "tiderace/testing/certificates.h"
#include "tiderace/testing/temporary_folder.h"
#include "tiderace/testing/world.h"

namespace tiderace::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;

class Tide final : public http::Handler {
  public:
    void handle(http::Exchange& exchange) override {
        http::Response response(200);
        response.set_body("tide\n");
        exchange.respond(response);
    }
};

class HttpLoopTest : public ::testing::Test {
  protected:
    HttpLoop& start(const HttpOptions& options) {
        http_.emplace(world_->loop(), site_, options);
        server_.emplace(world_->loop(), http_->sessions(), net::TcpServerOptions{});
        server_->listen(world_->listen());
        return *http_;
    }
    std::string heard(std::string_view said) {
        const auto peer = world_->connect();
        peer->say(said);
        world_->settle();
        return peer->heard();
    }

    testing::TemporaryFolder folder_;
    testing::Authority authority_;
    LogFiles files_;
    std::unique_ptr<testing::World> world_ = testing::make_world("fake");
    Tide tide_;
    http::SiteLoop site_{tide_};
    std::optional<HttpLoop> http_;
    std::optional<net::TcpServer> server_;
};

constexpr std::string_view request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
// SETTINGS, without their length: type, flags, stream.
const std::string http2_settings{"\4\0\0\0\0\0", 6};

TEST_F(HttpLoopTest, SpeaksTheVersionsItIsToldTo) {
    start({});
    EXPECT_THAT(heard(request), EndsWith("\r\n\r\ntide\n"));
    EXPECT_EQ(heard(http::wire::h2_preface).substr(3, 6), http2_settings);
    server_.reset();
    start({.http2 = false});
    EXPECT_THAT(heard(http::wire::h2_preface), StartsWith("HTTP/1.1 505 "));
    server_.reset();
    start({.http1 = false});
    EXPECT_EQ(heard(request).substr(3, 6), http2_settings);
}

TEST_F(HttpLoopTest, NamesThoseVersionsToClientsOfTls) {
    const auto files = authority_.issue(folder_, "server", {.names = {"localhost"}});
    const tls::ServerOptions tls{.certificates = {files}};
    const auto names = [&](const HttpOptions& options) {
        HttpLoop& http = start(options);
        EXPECT_EQ(http.encryption(), nullptr);
        EXPECT_TRUE(http.encrypt(tls));
        const tls::ServerOptions& made = http.encryption()->options();
        EXPECT_EQ(made.handshake_timeout, options.message.header_timeout);
        server_.reset();
        return made.protocols;
    };
    EXPECT_THAT(names({.message = {.header_timeout = 3s}}), ElementsAre("h2", "http/1.1"));
    EXPECT_THAT(names({.http2 = false}), ElementsAre("http/1.1"));
    EXPECT_THAT(names({.http1 = false}), ElementsAre("h2"));
}

TEST_F(HttpLoopTest, ACertificateThatCannotBeReadIsAnError) {
    const auto encrypted = start({}).encrypt({.certificates = {{"/absent.pem", "/absent.pem"}}});
    ASSERT_FALSE(encrypted);
    EXPECT_THAT(encrypted.error().message(), ::testing::HasSubstr("/absent.pem"));
    EXPECT_EQ(http_->encryption(), nullptr);
}

TEST_F(HttpLoopTest, BothVersionsHaveTheSameLimits) {
    start({.message = {.server_name = "ebb"}, .head = {.head_bytes_max = 100}});
    EXPECT_THAT(heard("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(100, 'x') + "\r\n\r\n"),
                StartsWith("HTTP/1.1 431 "));
    EXPECT_THAT(heard(request), ::testing::HasSubstr("Server: ebb\r\n"));
    // SETTINGS_MAX_HEADER_LIST_SIZE
    EXPECT_THAT(heard(http::wire::h2_preface),
                ::testing::HasSubstr(std::string("\0\6\0\0\0\144", 6)));
}

TEST_F(HttpLoopTest, LogsToTheUsualLogInEachTurn) {
    const http::AccessLogTarget usual{folder_.path_of("log"), http::AccessLogFormat::common};
    ASSERT_TRUE(files_.open(usual.path));
    ASSERT_TRUE(files_.writer().start());
    start({}).log_to(files_, &usual);
    EXPECT_THAT(heard(request), EndsWith("tide\n"));
    files_.writer().stop();
    std::ifstream file(usual.path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(text, ::testing::HasSubstr("\"GET / HTTP/1.1\" 200 5\n"));
}

}  // namespace
}  // namespace tiderace::serve
