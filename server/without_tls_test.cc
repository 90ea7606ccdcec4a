// The program as it is without OpenSSL: all of this room over openssl_absent.cc, which comes before
// the room tls when this is linked.
#include <gtest/gtest.h>

#include "server/cli.h"
#include "server/trust.h"
#include "server/version.h"

namespace tiderace::server {
namespace {

std::string refusal_of(const std::vector<std::string_view>& words) {
    auto command = parse_command_line(words);
    return command ? "" : command.error().sentence;
}

TEST(WithoutTls, ItsFlagsAreRefusedInOneSentence) {
    const std::string sentence =
        ": this program was built without TLS; it needs OpenSSL 3.0 or later and -DTIDERACE_TLS=ON";
    EXPECT_EQ(refusal_of({"serve", "--tls", "a,b"}), "--tls" + sentence);
    EXPECT_EQ(refusal_of({"serve", "--tls-self-signed"}), "--tls-self-signed" + sentence);
    EXPECT_EQ(refusal_of({"serve"}), "");
    EXPECT_NE(local_certificate().error().message().find(sentence), std::string::npos);
}

TEST(WithoutTls, TheVersionSaysSo) {
    EXPECT_NE(version_details().find("\ntls         none, built without it\n"), std::string::npos);
}

}  // namespace
}  // namespace tiderace::server
