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
    it.authority_names = {{"localhost", "box", "box.local"}, {"198.51.100.7"}};
    it.private_ranges = {"127.0.0.0/8", "10.0.0.0/8", "fe80::/10"};
    it.authority_ends = 1'952'678'400;
    return it;
}

std::string text_where(const std::string& present, std::string authority = "/a/authority.pem") {
    return trust_text(certificate(std::move(authority)),
                      [&](const std::string& path) { return path == present; });
}

TEST(Trust, NamesTheAuthorityItsFingerprintAndWhatItIsFor) {
    const std::string text = text_where("");
    EXPECT_THAT(text, HasSubstr("\n  /a/authority.pem\n  SHA-256 01:23:\n          45:67\n"));
}

TEST(Trust, StatesAllThatTheAuthorityCanDo) {
    EXPECT_THAT(text_where(""), HasSubstr(R"(
On devices that trust it, its key can make certificates of servers, until 2031-11-17,
with these names and addresses:

  any of      localhost and what is below it (app.localhost)
  exactly     box, box.local
  exactly     198.51.100.7
  any of      127.0.0.0/8, 10.0.0.0/8, fe80::/10

It can make none for another name or address, for a name below the exact ones,
for anything but servers, or for a further authority. Anyone with the key can
pass for these, also where another machine has the name or private address.
)"));
}

TEST(Trust, BreaksLongListsOfNames) {
    tls::SelfSigned many = certificate();
    many.authority_names.hosts.assign(12, "a-name-of-20-letters");
    const std::string text = trust_text(many, [](const std::string&) { return false; });
    const std::size_t begin = text.find("  exactly");
    for (std::size_t at = begin, end = 0; text[at] == ' '; at = end + 1) {
        end = text.find('\n', at);
        EXPECT_LE(end - at, 80u) << text.substr(at, end - at);
    }
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
    EXPECT_THAT(text_where("", "/a b/authority.pem"), HasSubstr("-i '/a b/authority.pem'"));
}

}  // namespace
}  // namespace tiderace::server
