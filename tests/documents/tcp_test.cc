// The programs of docs/tcp.md.
#include <gtest/gtest.h>

#include "tests/documents/program.h"
#include "tiderace/serve/stream_tls.h"
#include "tiderace/task.h"
#include "tiderace/tcp.h"
#include "tiderace/testing/certificates.h"

namespace documents {
namespace {

namespace tcp = tiderace::tcp;
using tiderace::run;
using tiderace::Task;

Task<std::string> say(std::string place, std::string text, tcp::ConnectOptions options) {
    auto stream = co_await tcp::connect(place, options);
    if (!stream) co_return stream.error().message();
    co_await stream->write(text);
    stream->finish();
    std::string heard;
    while (auto bytes = co_await stream->read()) heard += *bytes;
    co_return heard;
}

class Tcp : public ::testing::Test {
  protected:
    tiderace::testing::TemporaryFolder folder;
};

TEST_F(Tcp, AServerAsACoroutineEchoes) {
    Program program(folder, "tcp/a_server_as_a_coroutine");
    EXPECT_EQ(run(say(program.place(), "low tide", {})), "low tide");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Tcp, AProtocolBesideAnAppHasItsStates) {
    Program program(folder, "tcp/beside_an_app");
    EXPECT_EQ(get(program.url("/station")).body, "Cuxhaven\n");
    EXPECT_EQ(run(say(program.place("tcp://"), "level\nlevel\n", {})), "Cuxhaven\nCuxhaven\n");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Tcp, StreamsFollowATopicOfTheApp) {
    Program program(folder, "tcp/one_to_many");
    const auto follow = [](std::string place, std::string url) -> Task<std::string> {
        auto stream = co_await tcp::connect(place);
        if (!stream) co_return stream.error().message();
        co_await stream->write("from a stream\n");
        std::string heard(*co_await stream->read(tcp::Line{}));
        tiderace::http::Client client;
        co_await client.post(url, " and one from a page");
        heard += *co_await stream->read(tcp::Line{});
        co_return heard;
    };
    EXPECT_EQ(run(follow(program.place("tcp://"), program.url("/news"))),
              "from a stream and one from a page");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Tcp, AServerAsCallbacksEchoes) {
    Program program(folder, "tcp/a_server_as_callbacks");
    EXPECT_EQ(run(say(program.place(), "low tide", {})), "low tide");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Tcp, AClientAsksTheServer) {
    Program server(folder, "tcp/a_server_as_a_coroutine");
    Program client(folder, "tcp/a_client", {server.place()});
    EXPECT_EQ(client.wait(), 0) << client.output();
    EXPECT_EQ(server.end(), 0);
    Program late(folder, "tcp/a_client", {server.place()});
    EXPECT_EQ(late.wait(), 1);
    EXPECT_NE(late.output().find("connection refused"), std::string::npos) << late.output();
}

TEST_F(Tcp, TlsIsVerifiedByTheClient) {
    const tiderace::testing::Authority authority;
    const auto files = authority.issue(folder, "server", {.names = {"127.0.0.1", "localhost"}});
    Program program(folder, "tcp/tls", {files.certificate, files.key});
    const std::string place = "localhost" + program.place().substr(9);
    const tcp::ClientTls tls({.ca = authority.write(folder, "ca.pem")});
    EXPECT_EQ(run(say(place, "", {.security = &tls})), "in secret\n");
    const tcp::ClientTls strangers;
    EXPECT_NE(run(say(place, "", {.security = &strangers})), "in secret\n");
    EXPECT_EQ(program.end(), 0);
}

TEST_F(Tcp, AServerKnowsAClientByItsCertificate) {
    const tiderace::testing::Authority authority;
    const auto files = authority.issue(folder, "server", {.names = {"127.0.0.1", "localhost"}});
    const auto ada = authority.issue(folder, "ada", {.common_name = "ada"});
    const std::string ca = authority.write(folder, "ca.pem");
    Program program(folder, "tcp/certificates_of_clients", {files.certificate, files.key, ca});
    const std::string place = "localhost" + program.place().substr(9);
    const tcp::ClientTls member({.ca = ca, .certificate = {ada.certificate, ada.key}});
    EXPECT_EQ(run(say(place, "", {.security = &member})), "hello CN=ada");
    const tcp::ClientTls stranger({.ca = ca});
    EXPECT_EQ(run(say(place, "", {.security = &stranger})), "hello stranger");
    EXPECT_EQ(program.end(), 0);
}

}  // namespace
}  // namespace documents
