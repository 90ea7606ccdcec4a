#include "tiderace/tcp/run.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/tcp/server.h"

namespace tiderace::tcp {
namespace {

// A certificate that is not there.
class BrokenSecurity final : public ServerSecurity {
  public:
    Result<std::shared_ptr<net::TransportLayer>> layer(core::EventLoop&) const override {
        return fail(Error(0, "read", "cert.pem", "it is no certificate"));
    }
};

TEST(TcpRun, WhatCannotBeServedIsOneSentenceAndStatusOne) {
    const BrokenSecurity broken;
    const auto said = [](auto& listen, const ServeOptions& options) {
        ::testing::internal::CaptureStderr();
        EXPECT_EQ(Server(listen, options).run(), 1);
        return ::testing::internal::GetCapturedStderr();
    };
    EXPECT_TRUE(said("nonsense", {.program = "echo"}).starts_with("echo: address \"nonsense\": "));
    EXPECT_EQ(said("127.0.0.1:0", {.threads = 1, .security = &broken}),
              "tcp: read cert.pem: it is no certificate\n");
}

}  // namespace
}  // namespace tiderace::tcp
