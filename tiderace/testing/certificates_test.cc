#include "tiderace/testing/certificates.h"

#include <gtest/gtest.h>

#include "tiderace/tls/certificate.h"

namespace tiderace::testing {
namespace {

TEST(Certificates, AreWhatATlsServerLoads) {
    const TemporaryFolder folder;
    const Authority authority;
    for (const KeyKind kind : {KeyKind::p256, KeyKind::rsa_2048}) {
        const auto files =
            authority.issue(folder, "one", {.names = {"a.test", "127.0.0.1"}, .key = kind});
        const auto loaded = tls::Certificate::load(files);
        ASSERT_TRUE(loaded) << loaded.error().message();
        EXPECT_EQ(loaded->names, std::vector<std::string>{"a.test"});
        EXPECT_EQ(loaded->chain.size(), 1U);
        EXPECT_EQ(loaded->warnings.size(), 0U);
    }
}

TEST(Certificates, AreSignedByTheirAuthority) {
    const TemporaryFolder folder;
    const Authority authority, other;
    const auto loaded = tls::Certificate::load(authority.issue(folder, "one"));
    ASSERT_TRUE(loaded);
    EXPECT_EQ(X509_verify(loaded->leaf.get(), X509_get0_pubkey(loaded->chain[0].get())), 1);
    const auto stranger = tls::Certificate::load(other.issue(folder, "two"));
    ASSERT_TRUE(stranger);
    EXPECT_NE(X509_verify(loaded->leaf.get(), X509_get0_pubkey(stranger->chain[0].get())), 1);
}

}  // namespace
}  // namespace tiderace::testing
