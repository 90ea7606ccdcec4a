#include "tiderace/tls/certificate_set.h"

#include <gtest/gtest.h>

#include <ctime>

#include "tiderace/testing/certificates.h"
#include "tiderace/tls/ssl_settings.h"

namespace tiderace::tls {
namespace {

Result<> leave(SSL_CTX*, void*) {
    return {};
}

class CertificateSetTest : public ::testing::Test {
  protected:
    CertificateSet load(const std::vector<CertificateFiles>& files) {
        auto set = CertificateSet::load(files, &leave, nullptr);
        EXPECT_TRUE(set) << set.error().message();
        return std::move(*set);
    }
    CertificateFiles issue(const std::string& file, std::vector<std::string> names,
                           testing::KeyKind key = testing::KeyKind::p256) {
        return authority_.issue(folder_, file, {.names = std::move(names), .key = key});
    }

    testing::TemporaryFolder folder_;
    testing::Authority authority_;
};

TEST_F(CertificateSetTest, FindsTheExactNameThenTheWildcardThenTheFirst) {
    const auto set = load({issue("one", {"one.test"}), issue("two", {"two.test", "*.two.test"}),
                           issue("exact", {"www.two.test"})});
    SSL_CTX* one = set.find("one.test");
    SSL_CTX* two = set.find("two.test");
    SSL_CTX* exact = set.find("www.two.test");
    EXPECT_NE(one, two);
    EXPECT_NE(two, exact);
    EXPECT_EQ(set.by_default(), one);
    EXPECT_EQ(set.find("other.two.test"), two);
    EXPECT_EQ(set.find("two.test."), two);
    for (const char* unknown : {"a.b.two.test", "three.test", "test", "", ".", "*", ".two.testx"}) {
        EXPECT_EQ(set.find(unknown), one) << unknown;
    }
}

TEST_F(CertificateSetTest, PutsBothKindsOfKeyForANameSideBySide) {
    const auto set = load(
        {issue("ec", {"a.test", "b.test"}), issue("rsa", {"a.test"}, testing::KeyKind::rsa_2048)});
    EXPECT_EQ(set.by_default(), set.find("a.test"));
    EXPECT_NE(set.find("a.test"), set.find("b.test"));
    int kinds = 0;
    for (long more = SSL_CTX_set_current_cert(set.find("a.test"), SSL_CERT_SET_FIRST); more == 1;
         more = SSL_CTX_set_current_cert(set.find("a.test"), SSL_CERT_SET_NEXT)) {
        ++kinds;
    }
    EXPECT_EQ(kinds, 2);
}

TEST_F(CertificateSetTest, OfTwoForTheSameNameAndKindTheFirstServes) {
    const auto set = load({issue("one", {"a.test"}), issue("two", {"a.test", "b.test"})});
    EXPECT_EQ(set.find("a.test"), set.by_default());
    EXPECT_NE(set.find("b.test"), set.by_default());
    EXPECT_TRUE(set.warnings().empty());
}

TEST_F(CertificateSetTest, TellsOfOneThatIsNeverShown) {
    const auto set = load({issue("one", {"a.test", "b.test"}), issue("two", {"b.test"}),
                           issue("rsa", {"b.test"}, testing::KeyKind::rsa_2048)});
    EXPECT_EQ(set.warnings(),
              std::vector{folder_.path_of("two.pem") +
                          " is never shown: one before it has its names and its kind of key"});
}

TEST_F(CertificateSetTest, TellsWhatEndedBetweenTwoLooks) {
    const UnixSeconds now = std::time(nullptr);
    const auto files = authority_.issue(folder_, "one", {.valid_until = 1'000});
    const auto set = load({files, issue("two", {"two.test"})});
    EXPECT_TRUE(set.ended(now - 100, now + 600).empty());
    const auto certificate = set.ended(now + 600, now + 1'100);
    ASSERT_EQ(certificate.size(), 1U);
    EXPECT_TRUE(certificate[0].starts_with(files.certificate + " expired on ")) << certificate[0];
    EXPECT_TRUE(set.ended(now + 1'100, now + 2'000).empty());
    EXPECT_EQ(set.ended(now, now + 2'000).size(), 1U);
}

TEST_F(CertificateSetTest, SaysWhatAWeakKeyShouldBe) {
    const auto refused = CertificateSet::load(
        {issue("weak", {"a.test"}, testing::KeyKind::rsa_1024)},
        [](SSL_CTX* context, void*) { return apply_settings(context); }, nullptr);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(),
              "use " + folder_.path_of("weak.pem") +
                  ": ee key too small; expected RSA of 2048 bits or P-256 at least, and signatures "
                  "with SHA-256 at least");
}

TEST_F(CertificateSetTest, NeedsACertificate) {
    EXPECT_FALSE(CertificateSet::load({}, &leave, nullptr));
}

}  // namespace
}  // namespace tiderace::tls
