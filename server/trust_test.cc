#include "server/trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tiderace::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

tls::SelfSigned certificate(std::string authority = "/u/tiderace/authority.pem") {
    tls::SelfSigned it;
    it.authority_file = std::move(authority);
    it.authority_fingerprint = "01:23:45:67";
    it.names = {{"localhost", "box"}, {"127.0.0.1", "::1", "192.168.1.5"}};
    return it;
}

std::string text_where(const std::string& present, std::string authority = "/a/authority.pem") {
    return trust_text(certificate(std::move(authority)),
                      [&](const std::string& path) { return path == present; });
}

TEST(Trust, NamesTheAuthorityItsFingerprintAndWhatItIsFor) {
    const std::string text = text_where("");
    EXPECT_THAT(text, HasSubstr("\n  /a/authority.pem\n  SHA-256 01:23:\n          45:67\n"));
    EXPECT_THAT(text, HasSubstr("localhost, box, 192.168.1.5"));
}

TEST(Trust, SaysWhatToTypeOnEachSystem) {
    struct Case {
        const char* present;
        const char* says;
    };
    for (const Case& one : std::vector<Case>{
             {"/usr/local/share/ca-certificates",
              "sudo cp /a/authority.pem /usr/local/share/ca-certificates/tiderace.crt\n"
              "  sudo update-ca-certificates\n"},
             {"/etc/pki/ca-trust/source/anchors",
              "sudo cp /a/authority.pem /etc/pki/ca-trust/source/anchors/tiderace.pem\n"
              "  sudo update-ca-trust\n"},
             {"/etc/ca-certificates/trust-source/anchors", "sudo update-ca-trust\n"},
             {"/usr/bin/security", "security add-trusted-cert -r trustRoot"},
         }) {
        const std::string text = text_where(one.present);
        EXPECT_THAT(text, HasSubstr(one.says));
        const bool has_nss = std::string_view(one.present) != "/usr/bin/security";
        EXPECT_EQ(text.find("certutil -d") != std::string::npos, has_nss);
    }
    EXPECT_THAT(text_where(""), Not(HasSubstr("sudo")));
}

TEST(Trust, WritesPathsAsAShellReadsThem) {
    EXPECT_EQ(shell_word("/a/b-c_d.pem"), "/a/b-c_d.pem");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("/a b"), "'/a b'");
    EXPECT_EQ(shell_word("it's;rm"), "'it'\\''s;rm'");
    EXPECT_THAT(text_where("", "/a b/authority.pem"), HasSubstr("-i '/a b/authority.pem'"));
}

}  // namespace
}  // namespace tiderace::server
