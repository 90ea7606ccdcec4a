#include "server/command_line/tls_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/command_line/command_line.h"
#include "tiderace/tls/library.h"

namespace tiderace::server {
namespace {

// The options of a command line, or the sentence it is refused with.
std::expected<ServeOptions, std::string> serve(std::vector<std::string_view> words) {
    words.insert(words.begin(), "serve");
    auto command = parse_command_line(words);
    if (!command) return std::unexpected(command.error().sentence);
    return std::get<ServeOptions>(*command);
}

class TlsFlags : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!tls::is_built_in()) GTEST_SKIP() << "built without TLS";
    }
};

TEST_F(TlsFlags, TakeACertificateAndItsKey) {
    const auto two = serve({"--tls", "a.pem,b.key"});
    ASSERT_TRUE(two.has_value());
    EXPECT_EQ(two->tls.certificates, (std::vector<CertificateFiles>{{"a.pem", "b.key"}}));
    const auto one = serve({"--tls", "both.pem"});
    ASSERT_TRUE(one.has_value());
    EXPECT_EQ(one->tls.certificates, (std::vector<CertificateFiles>{{"both.pem", "both.pem"}}));
}

TEST_F(TlsFlags, TakeSeveralCertificates) {
    const auto options = serve({"--tls", "a,b", "--tls", "c"});
    ASSERT_TRUE(options.has_value());
    EXPECT_EQ(options->tls.certificates, (std::vector<CertificateFiles>{{"a", "b"}, {"c", "c"}}));
}

TEST_F(TlsFlags, GiveTheDefaultAddressAPortOfItsOwn) {
    EXPECT_EQ(serve({})->listen, std::vector<std::string>{"127.0.0.1:8080"});
    const auto encrypted = serve({"--tls-self-signed"});
    EXPECT_EQ(encrypted->listen, std::vector<std::string>{"127.0.0.1:8443"});
    EXPECT_TRUE(encrypted->listen_is_default);
    EXPECT_EQ(serve({"--tls-self-signed", "--listen", ":1"})->listen,
              std::vector<std::string>{":1"});
}

TEST_F(TlsFlags, ReachTheirFields) {
    const auto options = serve({"--tls", "a", "--hsts", "--https-redirect", ":80",
                                "--https-redirect=unix:/run/plain", "--tls-client-auth", "required",
                                "--tls-client-ca", "ca.pem"});
    ASSERT_TRUE(options.has_value()) << options.error();
    EXPECT_EQ(options->tls.hsts, 24h * 365);
    EXPECT_EQ(options->tls.https_redirect, (std::vector<std::string>{":80", "unix:/run/plain"}));
    EXPECT_EQ(options->tls.client_auth, ClientAuth::required);
    EXPECT_EQ(options->tls.client_ca, "ca.pem");
    EXPECT_EQ(serve({"--tls", "a", "--https-port", "443"})->tls.https_port, 443U);
    EXPECT_EQ(serve({"--tls", "a", "--hsts=1d"})->tls.hsts, 24h);
}

TEST_F(TlsFlags, RefuseWhatMakesNoSense) {
    struct Case {
        std::vector<std::string_view> words;
        std::string_view says;
    };
    const std::vector<Case> cases{
        {{"--tls", ""}, "CERT[,KEY"},
        {{"--tls", ",k"}, "CERT,KEY"},
        {{"--tls", "c,"}, "CERT,KEY"},
        {{"--tls", "a,,c"}, "CERT,KEY"},
        {{"--tls", "a,b,c"}, "CERT,KEY"},
        {{"--tls", "a,b", "--tls", "a,c"}, "given twice"},
        {{"--tls", "a", "--https-redirect", "80"}, ":8080"},
        {{"--tls", "a", "--https-redirect", ":80", "--https-redirect", ":80"}, "given twice"},
        {{"--tls", "a", "--https-redirect", ":443", "--listen", ":443"}, "--listen encrypts"},
        {{"--tls", "a", "--https-redirect", "unix:/run/a:0", "--listen", "unix:/run/a:0"},
         "--listen encrypts"},
        {{"--https-redirect", ":80"}, "--https-redirect needs a certificate"},
        {{"--hsts"}, "--hsts needs a certificate"},
        {{"--https-port", "443"}, "--https-port needs a certificate"},
        {{"--tls", "a", "--https-port", "0"}, "from 1 to 65535"},
        {{"--tls-client-auth", "optional"}, "--tls-client-auth needs a certificate"},
        {{"--tls-client-ca", "f"}, "--tls-client-ca needs a certificate"},
        {{"--tls", "a", "--tls-self-signed"}, "choose one"},
        {{"--tls-self-signed", "--hsts"}, "that browsers trust"},
        {{"--tls", "a", "--tls-client-auth", "required"}, "needs --tls-client-ca"},
        {{"--tls", "a", "--tls-client-ca", "f"}, "does nothing"},
        {{"--tls", "a", "--tls-client-auth", "yes"}, "optional"},
    };
    for (const Case& one : cases) {
        const auto options = serve(one.words);
        ASSERT_FALSE(options.has_value()) << one.says;
        EXPECT_THAT(options.error(), ::testing::HasSubstr(one.says));
        EXPECT_EQ(options.error().find('\n'), std::string::npos);
    }
}

TEST(TlsFlagsWithoutTls, AreRefusedInOneSentenceByAProgramWithoutTls) {
    ServeOptions options;
    EXPECT_TRUE(settle_tls(options, false).has_value());
    options.tls.self_signed = true;
    auto settled = settle_tls(options, false);
    ASSERT_FALSE(settled.has_value());
    EXPECT_EQ(
        settled.error(),
        "--tls-self-signed: this program was built without TLS; it needs OpenSSL 3.0 or later "
        "and -DTIDERACE_TLS=ON");
    options.tls = {};
    options.tls.certificates.push_back({"a", "b"});
    settled = settle_tls(options, false);
    ASSERT_FALSE(settled.has_value());
    EXPECT_TRUE(settled.error().starts_with("--tls: this program was built without TLS"));
}

}  // namespace
}  // namespace tiderace::server
