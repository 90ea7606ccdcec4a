// The program as it is without OpenSSL: all of this room over openssl_absent.cc, which comes before
// the room tls when this is linked.
#include <gtest/gtest.h>

#include "server/trust.h"
#include "server/version.h"
#include "tiderace/tls/self_signed.h"

namespace tiderace::server {
namespace {

TEST(WithoutTls, ACertificateCannotBeMade) {
    EXPECT_NE(tls::self_signed().error().message().find(
                  ": this program was built without TLS; it needs OpenSSL 3.0 or later and "
                  "-DTIDERACE_TLS=ON"),
              std::string::npos);
}

TEST(WithoutTls, TheVersionSaysSo) {
    EXPECT_NE(version_details().find("\ntls         none, built without it\n"), std::string::npos);
}

}  // namespace
}  // namespace tiderace::server
