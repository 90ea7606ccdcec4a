// Passwords and TLS, with real servers over TCP.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "tiderace/db/database_fixture.h"
#include "tiderace/testing/certificates.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::db {
namespace {

constexpr const char* password = "open-sesame";
constexpr const char* wrong_password = "open-barley";

// A server, and the authority that signed its certificate.
struct Secured {
    explicit Secured(Dialect dialect) : server(dialect, certificate_for("127.0.0.1")) {
        server.add_account("ada", password);
    }
    testing::DatabaseTls certificate_for(const std::string& host) const {
        const auto files = authority.issue(folder, host, {.names = {host}});
        return {.certificate = files.certificate, .key = files.key};
    }
    testing::TemporaryFolder folder;
    testing::Authority authority;
    Server server;
};

class TlsTest : public ::testing::TestWithParam<Dialect> {
  protected:
    static void TearDownTestSuite() {
        for (auto& each : all) each.reset();
    }
    void SetUp() override {
        const std::string missing = Server::missing(GetParam());
        if (!missing.empty()) GTEST_SKIP() << missing;
        auto& shared = all[static_cast<std::size_t>(GetParam())];
        if (shared == nullptr) shared = std::make_unique<Secured>(GetParam());
        secured = shared.get();
        name = GetParam() == Dialect::postgres ? "postgres" : "mysql";
    }
    std::string url(const std::string& options, const std::string& word = password,
                    const std::string& host = "127.0.0.1") const {
        return secured->server.tcp_url(name, "ada", word, host) + options;
    }
    std::string verified_by(const testing::Authority& by) const {
        return "?tls=verify&ca=" + by.write(secured->folder, "ca.pem");
    }
    // "in clear", "TLS", or the error.
    std::string outcome_of(const std::string& url) const {
        Options options;
        options.waiting_timeout = 20s;
        const auto ask = [](Database db, bool is_postgres) -> Task<std::string> {
            if (is_postgres) {
                const auto is_tls = co_await db.one<bool>(
                    "select ssl from pg_stat_ssl where pid = pg_backend_pid()");
                co_return *is_tls ? "TLS" : "in clear";
            }
            const auto cipher = co_await db.one<std::string>(
                "select variable_value from information_schema.session_status"
                " where variable_name = 'Ssl_cipher'");
            co_return cipher->empty() ? "in clear" : "TLS";
        };
        try {
            return task::run(ask(db::open(url, options), GetParam() == Dialect::postgres));
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), Fault::configuration) << error.what();
            return error.what();
        }
    }

    static inline std::array<std::unique_ptr<Secured>, 3> all;
    Secured* secured = nullptr;
    std::string name;
};

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
}

TEST_P(TlsTest, TheRightPasswordIsAccepted) {
    EXPECT_EQ(outcome_of(url("")), "in clear");
    EXPECT_EQ(outcome_of(url("?tls=require")), "TLS");
}

TEST_P(TlsTest, AWrongPasswordIsAnErrorWithoutIt) {
    for (const std::string options : {"", "?tls=require"}) {
        for (const std::string word : {wrong_password, ""}) {
            const std::string outcome = outcome_of(url(options, word));
            EXPECT_TRUE(holds(outcome, "ada") || holds(outcome, "password")) << outcome;
            EXPECT_FALSE(holds(outcome, wrong_password)) << outcome;
        }
    }
}

TEST_P(TlsTest, ACertificateOfAKnownAuthorityIsVerified) {
    EXPECT_EQ(outcome_of(url(verified_by(secured->authority))), "TLS");
}

TEST_P(TlsTest, AnUnknownAuthorityIsRefused) {
    const std::string outcome = outcome_of(url(verified_by(testing::Authority())));
    EXPECT_TRUE(holds(outcome, "certificate")) << outcome;
    EXPECT_FALSE(holds(outcome, password)) << outcome;
    // The authorities of the system do not know it either.
    EXPECT_TRUE(holds(outcome_of(url("?tls=verify")), "certificate"));
}

TEST_P(TlsTest, ACertificateForAnotherNameIsRefused) {
    secured->server.show(secured->certificate_for("db.example"));
    const std::string outcome = outcome_of(url(verified_by(secured->authority)));
    EXPECT_TRUE(holds(outcome, "certificate")) << outcome;
    EXPECT_EQ(outcome_of(url("?tls=require")), "TLS") << "any server at all";
    secured->server.show(secured->certificate_for("127.0.0.1"));
}

TEST_P(TlsTest, ACertificateIsVerifiedForTheNameOfTheUrl) {
    // The server has another port after each start.
    const auto by_name = [this](const testing::Authority& authority) {
        return outcome_of(url(verified_by(authority), password, "localhost"));
    };
    const std::string refused = by_name(secured->authority);
    EXPECT_TRUE(holds(refused, "certificate")) << "it is for 127.0.0.1: " << refused;
    EXPECT_TRUE(holds(refused, "valid for localhost and signed by an authority of ")) << refused;
    EXPECT_FALSE(holds(refused, password)) << refused;
    secured->server.show(secured->certificate_for("localhost"));
    EXPECT_EQ(by_name(secured->authority), "TLS");
    EXPECT_TRUE(holds(by_name(testing::Authority()), "certificate"));
    EXPECT_TRUE(holds(outcome_of(url(verified_by(secured->authority))), "valid for 127.0.0.1"));
    secured->server.show(secured->certificate_for("127.0.0.1"));
}

TEST_P(TlsTest, AConnectionByNameRunsAndEndsStatements) {
    secured->server.show(secured->certificate_for("localhost"));
    const auto use = [](Database db, std::string slow) -> Task<> {
        EXPECT_EQ(*co_await db.one<std::int64_t>("select 42"), 42);
        const auto answer = co_await task::within(200ms, db.one<bool>(slow));
        EXPECT_FALSE(answer.has_value());
        EXPECT_EQ(*co_await db.one<std::int64_t>("select 42"), 42);
    };
    Options options;
    options.waiting_timeout = 20s;
    const std::string by_name = url(verified_by(secured->authority), password, "localhost");
    task::run(use(db::open(by_name, options), GetParam() == Dialect::postgres
                                                  ? "select pg_sleep(600) is null"
                                                  : "select sleep(600) = 7"));
    secured->server.show(secured->certificate_for("127.0.0.1"));
}

TEST_P(TlsTest, AFileOfAuthoritiesThatIsMissingIsNamed) {
    const std::string outcome = outcome_of(url("?tls=verify&ca=/nowhere/ca.pem"));
    EXPECT_TRUE(holds(outcome, "/nowhere/ca.pem")) << outcome;
}

INSTANTIATE_TEST_SUITE_P(Servers, TlsTest, ::testing::Values(Dialect::postgres, Dialect::mariadb),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace tiderace::db
