#include "tiderace/serve/server_tls_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::tcp {
namespace {

TEST(ServerTlsOptions, AuthoritiesOfClientsAskForCertificates) {
    const auto none = server_tls_options({.certificates = {{"c.pem", "k.pem"}}});
    ASSERT_TRUE(none);
    EXPECT_EQ(none->certificates, (std::vector<tls::CertificateFiles>{{"c.pem", "k.pem"}}));
    EXPECT_EQ(none->client_certificates, tls::ClientCertificates::off);
    const auto required = server_tls_options({.client_ca = "ca.pem"});
    EXPECT_EQ(required->client_certificates, tls::ClientCertificates::required);
    EXPECT_EQ(required->client_ca, "ca.pem");
    const auto optional = server_tls_options({.client_ca = "ca.pem", .client_required = false});
    EXPECT_EQ(optional->client_certificates, tls::ClientCertificates::optional);
}

TEST(ServerTlsOptions, ADevelopmentCertificateIsMade) {
    const testing::TemporaryFolder folder;
    ::setenv("XDG_DATA_HOME", folder.path().c_str(), 1);
    std::string authority;
    const auto made = server_tls_options({.certificates = {development_certificate}}, &authority);
    ::unsetenv("XDG_DATA_HOME");
    ASSERT_TRUE(made) << made.error().message();
    ASSERT_EQ(made->certificates.size(), 1U);
    for (const std::string& file :
         {authority, made->certificates[0].certificate, made->certificates[0].key}) {
        EXPECT_TRUE(file.starts_with(folder.path())) << file;
        EXPECT_TRUE(std::filesystem::exists(file)) << file;
    }
}

}  // namespace
}  // namespace tiderace::tcp
