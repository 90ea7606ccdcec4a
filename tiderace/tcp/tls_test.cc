#include "tiderace/tcp/tls.h"

#include <gtest/gtest.h>

namespace tiderace {
namespace {

// With -Wextra, members that a designated initializer leaves out are a warning in a user's program,
// unless they have an initializer of their own.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
TEST(Tls, WhatIsLeftOutIsSafe) {
    const TlsServer server = {.certificates = {{"cert.pem", "key.pem"}, development_certificate}};
    EXPECT_EQ(server.certificates[0], (TlsFiles{.certificate = "cert.pem", .key = "key.pem"}));
    EXPECT_TRUE(server.certificates[1].development);
    EXPECT_TRUE(TlsServer{.client_ca = "ca.pem"}.client_required);
    const TlsClient client = {.ca = "ca.pem"};
    EXPECT_TRUE(client.verify);
    EXPECT_TRUE(client.system_roots);
    EXPECT_EQ(client.certificate, TlsFiles());
}
#pragma GCC diagnostic pop

}  // namespace
}  // namespace tiderace
