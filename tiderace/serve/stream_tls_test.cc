#include "tiderace/serve/stream_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "tiderace/tcp/connect.h"
#include "tiderace/tcp/tcp_fixture.h"
#include "tiderace/testing/certificates.h"
#include "tiderace/testing/environment_variable.h"

namespace tiderace::tcp {
namespace {

class StreamTlsTest : public ::testing::Test, protected ServedWorld {
  protected:
    StreamTlsTest() : ServedWorld("fake") {}
    void SetUp() override {
        const auto files = authority_.issue(folder_, "server", {.names = {"localhost"}});
        const ServerTls tls({.certificates = {{files.certificate, files.key}}}, {"x"});
        layer_ = tls.layer(world->loop()).value();
        other_layer_ = tls.layer(world->loop()).value();
        serve([this](Stream stream) -> task::Task<> {
            while (auto bytes = co_await stream.read()) co_await stream.write(*bytes);
            server_version_ = stream.security() != nullptr ? stream.security()->version : "";
            client_ = stream.security() != nullptr ? stream.security()->client : "";
        });
        server->listen(world->listen(), layer_.get());
        port_ = std::to_string(world->listening_at().port());
        server->listen(world->listen(), other_layer_.get());
        other_port_ = std::to_string(world->listening_at().port());
    }
    void TearDown() override { end_all(); }

    // What an echo through `tls` answers, or the error.
    std::string ask(const ClientTls& tls, const std::string& host) {
        return ask_at(host + ":" + port_, tls);
    }
    std::string ask_at(const std::string& where, const ClientTls& tls) {
        std::optional<std::string> answer;
        runner.spawn([](std::string to, const ClientTls& tls, std::optional<std::string>& answer,
                        bool& resumed) -> task::Task<> {
            auto stream = co_await connect(to, {.security = &tls});
            if (!stream) {
                answer = stream.error().message();
                co_return;
            }
            EXPECT_EQ(stream->security()->protocol, "x");
            resumed = stream->security()->resumed;
            co_await stream->write("in secret");
            answer = std::string(*co_await stream->read_exactly(9));
        }(where, tls, answer, resumed_));
        EXPECT_TRUE(world->run_until([&] { return answer.has_value(); }));
        return answer.value_or("");
    }

    testing::TemporaryFolder folder_;
    testing::Authority authority_;
    std::shared_ptr<net::TransportLayer> layer_, other_layer_;
    std::string port_, other_port_, server_version_, client_;
    bool resumed_ = false;  // the session of the last ask()
};

TEST_F(StreamTlsTest, EchoesThroughTlsAndSaysWhatWasAgreedOn) {
    const ClientTls tls({.ca = authority_.write(folder_, "ca.pem")}, {"x"});
    EXPECT_EQ(ask(tls, "localhost"), "in secret");
    EXPECT_EQ(ask(tls, "localhost"), "in secret") << "the loop's context is there already";
    world->run_until([&] { return !server_version_.empty(); });
    EXPECT_EQ(server_version_, "TLSv1.3");
}

// The example of the header has one in each coroutine.
TEST_F(StreamTlsTest, TheLayerOfAClientThatIsGoneGoesWithTheNextOne) {
    std::weak_ptr<ClientLayer> of_the_first;
    {
        const ClientTls first({.ca = authority_.write(folder_, "ca.pem")}, {"x"});
        EXPECT_EQ(ask(first, "localhost"), "in secret");
        of_the_first = *first.layer(runner);
        EXPECT_EQ(of_the_first.lock(), *first.layer(runner)) << "it is made once";
    }
    const ClientTls second({.ca = authority_.write(folder_, "ca.pem")}, {"x"});
    EXPECT_EQ(ask(second, "localhost"), "in secret");
    EXPECT_TRUE(of_the_first.expired());
}

// Each loop has a layer of its own.
TEST_F(StreamTlsTest, ASessionIsResumedOnAnotherLoop) {
    const ClientTls tls({.ca = authority_.write(folder_, "ca.pem")}, {"x"});
    EXPECT_EQ(ask(tls, "localhost"), "in secret");
    EXPECT_FALSE(resumed_);
    EXPECT_EQ(ask(tls, "localhost"), "in secret");
    EXPECT_TRUE(resumed_);
    EXPECT_EQ(ask_at("localhost:" + other_port_, tls), "in secret");
    EXPECT_TRUE(resumed_);
}

// A client may run for months, and its authorities change meanwhile.
TEST_F(StreamTlsTest, FilesThatAreReplacedCountForTheNextConnection) {
    const std::string ca = authority_.write(folder_, "ca.pem");
    const auto replace_by = [&](const testing::Authority& authority) {
        std::filesystem::rename(authority.write(folder_, "new.pem"), ca);
    };
    const ClientTls tls({.system_roots = false, .ca = ca}, {"x"});
    EXPECT_EQ(ask(tls, "localhost"), "in secret");
    EXPECT_EQ(ask(tls, "localhost"), "in secret");
    EXPECT_TRUE(resumed_);
    const testing::Authority another;
    replace_by(another);
    EXPECT_THAT(ask(tls, "localhost"),
                ::testing::EndsWith("the TLS handshake failed: certificate signature failure"))
        << "a session that the old authority vouched for is not resumed";
    replace_by(authority_);
    EXPECT_EQ(ask(tls, "localhost"), "in secret");
    EXPECT_FALSE(resumed_);
    // Half of a change: what was read before stays, until the files can be used.
    std::filesystem::remove(ca);
    EXPECT_EQ(ask(tls, "localhost"), "in secret");
    replace_by(another);
    EXPECT_TRUE(ask(tls, "localhost").contains("the TLS handshake failed"));
}

// Certificates of clients may last for an hour. A certificate may be there before its key is.
TEST_F(StreamTlsTest, AClientShowsTheCertificateThatIsInItsFile) {
    const std::string ca = authority_.write(folder_, "ca.pem");
    const auto own = authority_.issue(folder_, "server", {.names = {"localhost"}});
    const ServerTls server_tls({.certificates = {{own.certificate, own.key}}, .client_ca = ca},
                               {"x"});
    const auto layer = server_tls.layer(world->loop()).value();
    server->listen(world->listen(), layer.get());
    const std::string where = "localhost:" + std::to_string(world->listening_at().port());
    const auto files = authority_.issue(folder_, "client", {.common_name = "old"});
    const ClientTls tls(
        {.ca = ca, .certificate = {.certificate = files.certificate, .key = files.key}}, {"x"});
    const auto shown = [&] {
        client_.clear();
        EXPECT_EQ(ask_at(where, tls), "in secret");
        EXPECT_TRUE(world->run_until([&] { return !client_.empty(); }));
        return client_;
    };
    EXPECT_TRUE(shown().contains("old"));
    const auto next = authority_.issue(folder_, "next", {.common_name = "new"});
    std::filesystem::rename(next.certificate, files.certificate);
    EXPECT_TRUE(shown().contains("old")) << "the key is the old one's";
    std::filesystem::rename(next.key, files.key);
    EXPECT_TRUE(shown().contains("new"));
}

TEST_F(StreamTlsTest, TheSystemsAuthoritiesAreReadAgain) {
    const std::string roots = authority_.write(folder_, "roots.pem");
    const testing::EnvironmentVariable variable("SSL_CERT_FILE", roots);
    const ClientTls tls({}, {"x"});
    EXPECT_EQ(ask(tls, "localhost"), "in secret");
    const testing::Authority another;
    std::filesystem::rename(another.write(folder_, "new.pem"), roots);
    EXPECT_TRUE(ask(tls, "localhost").contains("the TLS handshake failed"));
}

TEST_F(StreamTlsTest, AServerThatDoesNotProveItsNameIsRefused) {
    const ClientTls trusting({.ca = authority_.write(folder_, "ca.pem")}, {"x"});
    const std::string wrong = ask(trusting, "127.0.0.1");
    EXPECT_TRUE(wrong.starts_with("secure the connection to 127.0.0.1:"));
    EXPECT_THAT(wrong, ::testing::EndsWith("the TLS handshake failed: IP address mismatch"));
    const ClientTls strict({}, {"x"});
    EXPECT_TRUE(ask(strict, "localhost").contains("the TLS handshake failed"));
}

TEST_F(StreamTlsTest, AFileThatIsNotThereIsNamed) {
    const ClientTls tls({.ca = "/nowhere/ca.pem"});
    EXPECT_TRUE(ask(tls, "localhost").contains("/nowhere/ca.pem"));
    const ServerTls server_tls({.certificates = {{"/nowhere/cert.pem", "/nowhere/key.pem"}}});
    const auto layer = server_tls.layer(world->loop());
    ASSERT_FALSE(layer.has_value());
    EXPECT_TRUE(layer.error().message().contains("/nowhere/"));
}

}  // namespace
}  // namespace tiderace::tcp
