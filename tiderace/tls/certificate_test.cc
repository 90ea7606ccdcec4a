#include "tiderace/tls/certificate.h"

#include <gtest/gtest.h>

#include "tiderace/testing/certificates.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::tls {
namespace {

class CertificateTest : public ::testing::Test {
  protected:
    std::string read(const std::string& path) {
        std::string text;
        if (FILE* file = std::fopen(path.c_str(), "rb"); file != nullptr) {
            char block[4'096];
            for (std::size_t got = 0; (got = std::fread(block, 1, sizeof block, file)) > 0;) {
                text.append(block, got);
            }
            std::fclose(file);
        }
        return text;
    }
    // The message, without the folder's name.
    std::string refusal(const CertificateFiles& files) {
        const auto loaded = Certificate::load(files);
        if (loaded) return "(it loads)";
        std::string text = loaded.error().message();
        for (std::size_t at = 0; (at = text.find(folder_.path() + "/")) != std::string::npos;) {
            text.erase(at, folder_.path().size() + 1);
        }
        return text;
    }
    std::string path(const std::string& name) { return folder_.path_of(name); }

    testing::TemporaryFolder folder_;
    testing::Authority authority_;
    CertificateFiles good_ = authority_.issue(folder_, "good", {.names = {"A.Test", "*.b.test"}});
};

TEST_F(CertificateTest, KnowsItsNamesInLowerCase) {
    const auto loaded = Certificate::load(good_);
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->names, (std::vector<std::string>{"a.test", "*.b.test"}));
    EXPECT_EQ(loaded->chain.size(), 1U);
}

TEST_F(CertificateTest, FallsBackToTheCommonNameWithoutAlternativeNames) {
    const auto loaded = Certificate::load(
        authority_.issue(folder_, "old", {.names = {}, .common_name = "old.test"}));
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->names, std::vector<std::string>{"old.test"});
}

TEST_F(CertificateTest, SaysWhatIsWrongWithFiles) {
    const std::string certificate = read(good_.certificate);
    const std::string key = read(good_.key);
    const auto other = authority_.issue(folder_, "other");
    folder_.write("empty", "");
    folder_.write("text", "hello\n");
    folder_.write("der", "\x30\x82\x01");
    folder_.write("cut", certificate.substr(0, certificate.size() / 4));
    std::string damaged = certificate;
    damaged.replace(damaged.find('\n') + 1, 8, "????????");
    folder_.write("damaged", "# a word\n" + damaged);
    std::string damaged_key = key;
    damaged_key.replace(damaged_key.find('\n') + 1, 8, "AAAAAAAA");
    folder_.write("damaged.key", damaged_key);
    folder_.write("encrypted.key",
                  "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n"
                  "-----END ENCRYPTED PRIVATE KEY-----\n");
    folder_.write("old.key",
                  "\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAA==\n"
                  "-----END RSA PRIVATE KEY-----\n");
    const std::size_t second = certificate.find("-----BEGIN", 1);
    folder_.write("reversed", certificate.substr(second) + certificate.substr(0, second));
    const struct {
        std::string certificate, key, said;
    } cases[] = {
        {"none.pem", "good.key", "read none.pem: no such file or directory"},
        {"good.pem", "none.key", "read none.key: no such file or directory"},
        {"empty", "good.key", "load empty: the file is empty"},
        {"good.pem", "empty", "load empty: the file is empty"},
        {"text", "good.key",
         "load text: expected a PEM block \"-----BEGIN CERTIFICATE-----\", found none"},
        {"good.pem", "text",
         "load text: expected a PEM block \"-----BEGIN PRIVATE KEY-----\", found none"},
        {"der", "good.key",
         "load der: the file is DER, expected PEM; `openssl x509` and `openssl pkey` convert it"},
        {"cut", "good.key", "load cut line 1: this block has no END line: is the file whole?"},
        {"damaged", "good.key",
         "load damaged line 2: the CERTIFICATE block is damaged: bad base64 decode"},
        {"good.pem", "encrypted.key",
         "load encrypted.key line 1: the key is encrypted, expected one without a password; "
         "`openssl pkey -in FILE -out NEW` takes the password off"},
        {"good.pem", "old.key",
         "load old.key line 2: the key is encrypted, expected one without a password; "
         "`openssl pkey -in FILE -out NEW` takes the password off"},
        {"good.key", "good.pem",
         "load good.key: expected CERTIFICATE and found PRIVATE KEY: are the two files swapped?"},
        {"good.pem", "good.pem",
         "load good.pem: found a certificate and no key in it; the key's file is named behind it: "
         "CERT,KEY"},
        {"good.pem", "other.pem",
         "load other.pem: expected PRIVATE KEY and found CERTIFICATE: are the two files swapped?"},
        {"good.pem", "other.key",
         "load other.key: the key does not belong to the certificate in good.pem"},
    };
    for (const auto& [certificate_file, key_file, said] : cases) {
        EXPECT_EQ(refusal({path(certificate_file), path(key_file)}), said);
    }
    EXPECT_TRUE(refusal({path("good.pem"), path("damaged.key")})
                    .starts_with("load damaged.key line 1: the PRIVATE KEY block is damaged: "));
    EXPECT_NE(refusal({path("reversed"), path("good.key")}), "(it loads)");
}

TEST_F(CertificateTest, AKeyThatNoClientTakesIsRefused) {
    const auto files = authority_.issue(folder_, "coin", {.key = testing::KeyKind::secp256k1});
    EXPECT_EQ(refusal(files),
              "load coin.key: no client takes a key of the curve secp256k1; expected P-256, P-384 "
              "or P-521");
}

TEST_F(CertificateTest, AByteOrderMarkDoesNoHarm) {
    folder_.write("marked", "\xEF\xBB\xBF" + read(good_.certificate));
    EXPECT_TRUE(Certificate::load({path("marked"), good_.key}));
}

TEST_F(CertificateTest, WarnsOfWhatIsNotValidNow) {
    const auto expired = Certificate::load(
        authority_.issue(folder_, "expired", {.valid_from = -7'200, .valid_until = -3'600}));
    ASSERT_TRUE(expired);
    ASSERT_EQ(expired->warnings.size(), 1U);
    EXPECT_TRUE(expired->warnings[0].starts_with(path("expired.pem") + " expired on "));
    const auto early = Certificate::load(authority_.issue(folder_, "early", {.valid_from = 3'600}));
    ASSERT_TRUE(early);
    ASSERT_EQ(early->warnings.size(), 1U);
    EXPECT_TRUE(early->warnings[0].starts_with(path("early.pem") + " is not valid before "));
}

// Whatever a file holds, loading says something and does no harm.
TEST_F(CertificateTest, EveryCutOfAFileIsRefusedOrLoads) {
    const std::string certificate = read(good_.certificate);
    for (std::size_t cut = 0; cut < certificate.size(); cut += 7) {
        folder_.write("cut", certificate.substr(0, cut));
        const auto loaded = Certificate::load({path("cut"), good_.key});
        EXPECT_TRUE(loaded || !loaded.error().message().empty());
    }
}

TEST_F(CertificateTest, LeavesNothingOfAKeyInFreedMemory) {
    if (!testing::FreedMemory::works) GTEST_SKIP() << testing::FreedMemory::why_not;
    const std::string key = read(good_.key);
    const std::string line = key.substr(key.find('\n') + 1, 40);
    folder_.write("both", read(good_.certificate) + key);
    folder_.write("damaged", std::string(key).insert(key.find("END") - 8, "!"));
    const testing::FreedMemory freed(line);
    EXPECT_TRUE(Certificate::load({.certificate = path("both"), .key = path("both")}));
    EXPECT_FALSE(Certificate::load({.certificate = path("both"), .key = path("damaged")}));
    EXPECT_EQ(freed.found(), 0);
}

}  // namespace
}  // namespace tiderace::tls
