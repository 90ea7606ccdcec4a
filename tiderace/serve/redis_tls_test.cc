// rediss://, with a server of our own behind TLS.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tiderace/db/redis/server_fixture.h"
#include "tiderace/redis.h"
#include "tiderace/serve/stream_tls.h"
#include "tiderace/tcp/tcp_fixture.h"
#include "tiderace/testing/certificates.h"

namespace tiderace::db::redis {
namespace {

class RedisTls : public ::testing::Test, protected tcp::ServedWorld {
  protected:
    RedisTls() : ServedWorld("fake") {}
    void SetUp() override {
        const auto files = authority_.issue(folder_, "server", {.names = {"localhost"}});
        const tcp::ServerTls tls({.certificates = {{files.certificate, files.key}}});
        layer_ = tls.layer(world->loop()).value();
        serve([](tcp::Stream stream) -> task::Task<> {
            while (auto bytes = co_await stream.read()) {
                const bool greeting = bytes->find("HELLO") != bytes->npos;
                const std::string_view answer = greeting ? "%0\r\n" : "$6\r\nsecret\r\n";
                co_await stream.write(answer);
            }
        });
        server->listen(world->listen(), layer_.get());
        port_ = std::to_string(world->listening_at().port());
    }
    void TearDown() override { end_all(); }

    // What a GET answers, or the kind of its fault.
    std::string ask(const tcp::ClientTls& tls, const std::string& host) {
        std::optional<std::string> answer;
        Options options;
        options.security = &tls;
        options.waiting_timeout = 1s;
        const Client redis = open("rediss://" + host + ":" + port_, options);
        runner.spawn([](Client client, std::optional<std::string>& out) -> task::Task<> {
            try {
                const auto value = co_await client.get("a");
                out = value.value_or("nothing");
            } catch (const Error& error) {
                out = std::string(name_of(error.kind()));
            }
        }(redis, answer));
        EXPECT_TRUE(world->run_until([&] { return answer.has_value(); }));
        return answer.value_or("");
    }

    testing::TemporaryFolder folder_;
    testing::Authority authority_;
    std::shared_ptr<net::TransportLayer> layer_;
    std::string port_;
};

TEST_F(RedisTls, CommandsGoThroughTls) {
    const tcp::ClientTls tls({.ca = authority_.write(folder_, "ca.pem")});
    EXPECT_EQ(ask(tls, "localhost"), "secret");
}

TEST_F(RedisTls, AServerThatDoesNotProveItsNameIsRefused) {
    const tcp::ClientTls strict;
    EXPECT_EQ(ask(strict, "localhost"), "connection_lost");
    const tcp::ClientTls trusting({.ca = authority_.write(folder_, "ca.pem")});
    EXPECT_EQ(ask(trusting, "127.0.0.1"), "connection_lost");
}

// A real redis-server, which is reached over TLS alone and wants a password.
class RealRedisTls : public ::testing::Test {
  protected:
    void SetUp() override {
        if (const auto why = RedisServer::missing(); !why.empty()) GTEST_SKIP() << why;
        const auto files = authority_.issue(folder_, "server", {.names = {"127.0.0.1"}});
        server_.emplace(std::vector<std::string>{"--tls-cert-file", files.certificate,
                                                 "--tls-key-file", files.key, "--tls-auth-clients",
                                                 "no", "--requirepass", "open-sesame"},
                        RedisServer::Network::tls);
    }
    // What SET and GET lead to: the value, or the error.
    std::string outcome_of(const tcp::ClientTls& tls, const std::string& password,
                           const std::string& host = "127.0.0.1") const {
        Options options;
        options.security = &tls;
        options.waiting_timeout = 1s;
        const std::string url =
            "rediss://:" + password + "@" + host + ":" + std::to_string(server_->port());
        try {
            return task::run([](Client client) -> task::Task<std::string> {
                co_await client.set("a", "secret");
                auto value = co_await client.get("a");
                co_return value.value_or("nothing");
            }(open(url, options)));
        } catch (const Error& error) {
            return error.what();
        }
    }
    tcp::ClientTls trusting(const testing::Authority& authority) const {
        return tcp::ClientTls({.ca = authority.write(folder_, "ca.pem")});
    }

    testing::TemporaryFolder folder_;
    testing::Authority authority_;
    std::optional<RedisServer> server_;
};

TEST_F(RealRedisTls, TheRightPasswordIsAccepted) {
    EXPECT_EQ(outcome_of(trusting(authority_), "open-sesame"), "secret");
}

TEST_F(RealRedisTls, AWrongPasswordIsAnErrorWithoutIt) {
    const std::string outcome = outcome_of(trusting(authority_), "open-barley");
    EXPECT_NE(outcome.find("configuration: WRONGPASS"), outcome.npos) << outcome;
    EXPECT_EQ(outcome.find("open-barley"), outcome.npos) << outcome;
}

TEST_F(RealRedisTls, AnUnknownAuthorityAndAnotherNameAreRefused) {
    const std::string unknown = outcome_of(trusting(testing::Authority()), "open-sesame");
    EXPECT_NE(unknown.find("certificate"), unknown.npos) << unknown;
    const std::string system = outcome_of(tcp::ClientTls(), "open-sesame");
    EXPECT_NE(system.find("certificate"), system.npos) << system;
    const std::string other = outcome_of(trusting(authority_), "open-sesame", "localhost");
    EXPECT_NE(other.find("hostname mismatch"), other.npos) << other;
}

// Three masters that speak TLS alone, to clients and among themselves.
class RealTlsCluster : public ::testing::Test {
  protected:
    static constexpr std::size_t masters = 3;

    void SetUp() override {
        if (const auto why = RedisServer::missing(); !why.empty()) GTEST_SKIP() << why;
        const auto files = authority_.issue(folder_, "server", {.names = {"127.0.0.1"}});
        ca_ = authority_.write(folder_, "ca.pem");
        for (auto& each : all_) {
            each = std::make_unique<RedisServer>(
                std::vector<std::string>{"--tls-cert-file", files.certificate, "--tls-key-file",
                                         files.key, "--tls-ca-cert-file", ca_, "--tls-auth-clients",
                                         "no"},
                RedisServer::Network::tls_cluster);
        }
        task::run(join_all());
    }
    task::Task<> join_all() const {
        co_await join_cluster(all_, masters);
        for (const auto& each : all_) {
            co_await until_info_has(*each, "CLUSTER", "cluster_state:ok");
        }
    }

    testing::TemporaryFolder folder_;
    testing::Authority authority_;
    std::string ca_;
    std::array<std::unique_ptr<RedisServer>, masters> all_;
};

TEST_F(RealTlsCluster, EveryServerIsReachedOverTls) {
    const tcp::ClientTls tls({.ca = ca_});
    Options options;
    options.security = &tls;
    const Client client = open("rediss://127.0.0.1:" + std::to_string(all_[0]->port()), options);
    task::run([](Client redis) -> task::Task<> {
        for (int i = 0; i < 100; ++i) {
            const std::string key = "k" + std::to_string(i);
            co_await redis.set(key, std::to_string(i));
            const auto value = co_await redis.get(key);
            EXPECT_EQ(value, std::to_string(i));
        }
        EXPECT_EQ(redis.counters().nodes, masters);
        EXPECT_GE(redis.counters().redirected, 1U);
    }(client));
}

TEST(RedisTlsUrl, WithoutSecurityItIsAnError) {
    try {
        (void)open("rediss://localhost");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Fault::configuration);
    }
}

}  // namespace
}  // namespace tiderace::db::redis
