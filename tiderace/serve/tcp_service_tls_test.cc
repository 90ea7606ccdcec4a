// tcp_service() with TcpServiceOptions::security.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tiderace/http/app/app.h"
#include "tiderace/serve/serve.h"
#include "tiderace/serve/stream_tls.h"
#include "tiderace/serve/tcp_service.h"
#include "tiderace/tcp/connect.h"
#include "tiderace/testing/certificates.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http {
namespace {

task::Task<> greet(tcp::Stream stream) {
    const std::string version(stream.security()->version);
    co_await stream.write(version + "\n");
}

TEST(TcpServiceTls, ItsConnectionsAreEncrypted) {
    const testing::TemporaryFolder folder;
    const testing::Authority authority;
    const auto files = authority.issue(folder, "server", {.names = {"localhost"}});
    const tcp::ServerTls tls({.certificates = {{files.certificate, files.key}}});
    const tcp::ClientTls client({.ca = authority.write(folder, "ca.pem")});
    App app;
    std::vector<core::Address> at;
    std::string heard;
    const auto ask = [&]() -> task::Task<> {
        auto stream = co_await tcp::connect("localhost:" + std::to_string(at.at(1).port()),
                                            {.security = &client});
        EXPECT_TRUE(stream) << (stream ? "" : stream.error().message());
        if (stream) {
            auto line = co_await stream->read(tcp::Line{});
            heard = line ? std::string(*line) : "nothing";
        }
        app.drain();
    };
    app.background(ask, {.grace = 10s});
    EXPECT_EQ(app.serve({.listen = "127.0.0.1:0",
                         .tcp = {tcp_service("127.0.0.1:0", greet, {.security = &tls})},
                         .threads = 1,
                         .on_listening = [&](const auto& addresses) { at = addresses; }}),
              0);
    EXPECT_EQ(heard, "TLSv1.3");
}

TEST(TcpServiceTls, ACertificateThatCannotBeReadIsOneSentence) {
    const tcp::ServerTls broken({.certificates = {{"missing.pem", "missing.pem"}}});
    App app;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(app.serve({.listen = "127.0.0.1:0",
                         .tcp = {tcp_service("127.0.0.1:0", greet, {.security = &broken})}}),
              1);
    EXPECT_NE(::testing::internal::GetCapturedStderr().find("missing.pem"), std::string::npos);
}

}  // namespace
}  // namespace tiderace::http
