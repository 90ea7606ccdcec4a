#include "tiderace/tls/client_context.h"

#include <fcntl.h>

#include <ctime>

#include "tiderace/testing/environment_variable.h"
#include "tiderace/tls/certificate.h"
#include "tiderace/tls/read_file.h"
#include "tiderace/tls/tls_fixture.h"

namespace tiderace::tls {
namespace {

using Failure = HandshakeFailure;

class ClientTest : public TlsTest {
  protected:
    bool talks_to(const std::string& name) {
        const auto peer = connect(name);
        peer->say("x");
        return run_until([&] { return peer->over() || peer->heard() == "x"; }) &&
               peer->heard() == "x";
    }
};

TEST_F(ClientTest, TrustsACertificateOfItsAuthorityForTheRequestedName) {
    ServerOptions options = server_options();
    options.certificates = {
        authority_.issue(folder_, "server", {.names = {"a.test", "*.b.test", "127.0.0.1"}})};
    serve(options);
    for (const char* name : {"a.test", "A.TEST", "x.b.test", "127.0.0.1", "a.test.", "x.b.test."}) {
        EXPECT_TRUE(talks_to(name)) << name;
    }
    for (const char* name : {"b.test", "x.y.b.test", "c.test.", "127.0.0.2"}) {
        EXPECT_FALSE(talks_to(name)) << name;
    }
    world_.settle();
    EXPECT_EQ(client_->counters().failures(Failure::certificate), 4U);
    EXPECT_EQ(context_->counters().failures(Failure::peer_alert), 4U);
}

// RFC 9110, 4.3.4.
TEST_F(ClientTest, TrustsNoNameOfASubject) {
    files_ = authority_.issue(folder_, "server", {.names = {}, .common_name = "localhost"});
    EXPECT_FALSE(talks_to("localhost"));
    EXPECT_EQ(client_->counters().failures(Failure::certificate), 1U);
}

// RFC 6066, 3.
TEST_F(ClientTest, SendsAnAbsoluteNameWithoutItsDot) {
    EXPECT_TRUE(talks_to("localhost."));
    EXPECT_EQ(sessions_.connection->security()->server_name, "localhost");
    EXPECT_EQ(client_->wrap(reach(), "."), nullptr);
}

TEST_F(ClientTest, TrustsNoOther) {
    const testing::Authority other;
    trust({.system_roots = false, .ca = other.write(folder_, "other.pem")});
    EXPECT_FALSE(talks_to("localhost"));
    trust({});
    EXPECT_FALSE(talks_to("localhost"));
    trust({.system_roots = false});
    EXPECT_FALSE(talks_to("localhost"));
    trust({.verify = false});
    EXPECT_TRUE(talks_to("localhost"));
}

TEST_F(ClientTest, TrustsTheSystemsAuthoritiesByDefault) {
    const testing::EnvironmentVariable roots("SSL_CERT_FILE",
                                             authority_.write(folder_, "roots.pem"));
    trust({});
    EXPECT_TRUE(talks_to("localhost"));
    trust({.system_roots = false});
    EXPECT_FALSE(talks_to("localhost"));
}

TEST_F(ClientTest, RefusesAnExpiredCertificate) {
    files_ = authority_.issue(folder_, "server", {.valid_from = -7'200, .valid_until = -3'600});
    EXPECT_FALSE(talks_to("localhost"));
}

TEST_F(ClientTest, HasToAskForSomeone) {
    serve();
    trust();
    EXPECT_EQ(client_->wrap(reach(), ""), nullptr);
    EXPECT_EQ(client_->wrap(reach(), std::string("localhost\0.b", 12)), nullptr);
}

TEST_F(ClientTest, OffersItsProtocolsAndLearnsWhatWasChosen) {
    ClientOptions options = client_options();
    options.protocols = {"http/1.1"};
    trust(options);
    serve();
    testing::ScriptedSessions sessions;
    net::TcpServer clients(world_.loop(), sessions, {});
    auto* connection =
        clients.adopt(client_->wrap(reach(), "localhost"), core::Address::loopback(2));
    connection->write("x");
    ASSERT_TRUE(run_until([&] { return sessions.received == "x"; }));
    ASSERT_NE(connection->security(), nullptr);
    EXPECT_EQ(connection->security()->protocol, "http/1.1");
    EXPECT_FALSE(connection->security()->client_verified) << "the certificate is a server's";
    EXPECT_EQ(connection->security()->client, "");
    EXPECT_EQ(sessions_.connection->security()->protocol, "http/1.1");
}

TEST_F(ClientTest, SaysThatItIsSecuredBeforeAnyByte) {
    ClientOptions options = client_options();
    options.protocols = {"http/1.1"};
    trust(options);
    serve();
    testing::ScriptedSessions sessions;
    sessions.on_secured = [](net::Connection& connection) {
        ASSERT_NE(connection.security(), nullptr);
        EXPECT_EQ(connection.security()->protocol, "http/1.1");
        connection.write("x");
    };
    net::TcpServer clients(world_.loop(), sessions, {});
    clients.adopt(client_->wrap(reach(), "localhost"), core::Address::loopback(2));
    ASSERT_TRUE(run_until([&] { return sessions.received == "x"; }));
    EXPECT_EQ(sessions.secured, 1);
    // One that ends the connection there and then.
    sessions.on_secured = [](net::Connection& connection) {
        connection.close(net::CloseReason::aborted);
    };
    clients.adopt(client_->wrap(reach(), "localhost"), core::Address::loopback(2));
    ASSERT_TRUE(run_until([&] { return clients.size() == 1; }));
    EXPECT_EQ(sessions.secured, 2);
}

TEST_F(ClientTest, ResumesWhereTheCallerWants) {
    const auto talk_twice = [&](const char* first, const char* second) {
        EXPECT_TRUE(talks_to(first));
        world_.settle();
        EXPECT_TRUE(talks_to(second));
        EXPECT_TRUE(talks_to(second));
        world_.settle();
        return client_->counters().resumed();
    };
    ServerOptions server = server_options();
    server.certificates = {authority_.issue(
        folder_, "server", {.names = {"a.test", "b.test", "127.0.0.1", "127.0.0.2"}})};
    serve(server);
    trust();
    EXPECT_EQ(talk_twice("a.test", "a.test"), 0U);
    ClientOptions options = client_options();
    options.resume = true;
    trust(options);
    EXPECT_EQ(talk_twice("a.test", "a.test"), 2U);
    // A session is good for the name that was verified in it, and for no other.
    EXPECT_EQ(talk_twice("b.test", "127.0.0.1"), 3U);
    EXPECT_EQ(talk_twice("127.0.0.1", "127.0.0.2"), 5U);
}

// Resumption verifies no certificate, and each handshake gives another ticket: without an end a
// client could go on for ever after its certificate's.
TEST_F(ClientTest, NoSessionOutlivesTheCertificateItWasVerifiedBy) {
    const std::int64_t now = std::time(nullptr);
    for (const bool is_clients : {true, false}) {
        ServerOptions wants = server_options();
        wants.client_certificates = ClientCertificates::required;
        wants.client_ca = authority_.write(folder_, "clients.pem");
        wants.certificates = {
            authority_.issue(folder_, "of_server", {.valid_until = is_clients ? 90'000 : 10'000})};
        serve(wants);
        ClientOptions options = client_options();
        options.certificate =
            authority_.issue(folder_, "of_client", {.valid_until = is_clients ? 10'000 : 90'000});
        options.resume = true;
        trust(options);
        world_.clock().set_unix(now + 9'000);
        world_.advance(2s);
        for (int i = 0; i < 2; ++i) {
            EXPECT_TRUE(talks_to("localhost"));
            world_.settle();
        }
        EXPECT_EQ(client_->counters().resumed(), 1U);
        world_.clock().set_unix(now + 11'000);
        world_.advance(2s);
        EXPECT_TRUE(talks_to("localhost"));  // OpenSSL's clock is the system's
        EXPECT_EQ(client_->counters().resumed(), 1U) << is_clients;
    }
}

TEST_F(ClientTest, ShowsItsOwnCertificate) {
    ServerOptions wants = server_options();
    wants.client_certificates = ClientCertificates::required;
    wants.client_ca = authority_.write(folder_, "clients.pem");
    serve(wants);
    EXPECT_FALSE(talks_to("localhost"));
    ClientOptions options = client_options();
    options.certificate = authority_.issue(folder_, "client", {.common_name = "visitor"});
    trust(options);
    EXPECT_TRUE(talks_to("localhost"));
}

// Opens files as a process does that gave up the right to read them itself.
class Opener {
  public:
    explicit Opener(FileOpener open) { set_file_opener(std::move(open)); }
    Opener(const Opener&) = delete;
    Opener& operator=(const Opener&) = delete;
    ~Opener() { set_file_opener({}); }
};

int open_file(const std::string& path) {
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

// A session that was made under one authority is none under another, also where the file of
// authorities is replaced while it is read.
TEST_F(ClientTest, ASessionIsNamedByTheAuthoritiesThatClientsWereVerifiedBy) {
    const testing::Authority other;
    const std::string first = authority_.write(folder_, "first.pem");
    const std::string second = other.write(folder_, "second.pem");
    ServerOptions wants = server_options();
    wants.client_certificates = ClientCertificates::required;
    wants.client_ca = folder_.path_of("authorities.pem");
    wants.tickets = std::make_shared<TicketShare>();
    ClientOptions options = client_options();
    options.certificate = authority_.issue(folder_, "client", {.common_name = "visitor"});
    options.resume = true;
    trust(options);
    int reads = 0;
    const Opener opener([&, ca = wants.client_ca](const std::string& path) {
        if (path != ca) return open_file(path);
        return open_file(reads++ == 0 ? first : second);
    });
    serve(wants);
    EXPECT_TRUE(talks_to("localhost"));
    world_.settle();
    serve(wants);
    EXPECT_FALSE(talks_to("localhost"));
    EXPECT_EQ(client_->counters().resumed(), 0U);
}

TEST_F(ClientTest, ItsAuthoritiesMayBeOpenedByAnother) {
    const std::string real = authority_.write(folder_, "real.pem");
    ClientOptions options = client_options();
    options.ca = folder_.path_of("closed.pem");
    const Opener opener([&, ca = options.ca](const std::string& path) {
        return open_file(path == ca ? real : path);
    });
    trust(options);
    EXPECT_TRUE(talks_to("localhost"));
}

// Without it the server could not verify ours, and would not say why.
TEST_F(ClientTest, RefusesAChainThatOpensslDoesNotTake) {
    const auto text_of = [](const std::string& path) {
        return std::string(*read_file(path, Certificate::file_bytes_max));
    };
    ClientOptions options = client_options();
    options.certificate = authority_.issue(folder_, "client");
    const CertificateFiles weak =
        authority_.issue(folder_, "weak", {.key = testing::KeyKind::rsa_1024});
    folder_.write("client.pem",
                  text_of(options.certificate.certificate) + text_of(weak.certificate));
    const auto made = ClientContext::create(world_.loop(), options);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message().find(options.certificate.certificate), std::string::npos)
        << made.error().message();
}

TEST_F(ClientTest, SaysWhichFileIsWrong) {
    folder_.write("empty", "");
    for (const char* name : {"none", "empty"}) {
        const auto made = ClientContext::create(world_.loop(), {.ca = folder_.path_of(name)});
        ASSERT_FALSE(made);
        EXPECT_NE(made.error().message().find(folder_.path_of(name)), std::string::npos);
    }
    ClientOptions options;
    options.certificate = {folder_.path_of("empty"), folder_.path_of("empty")};
    EXPECT_FALSE(ClientContext::create(world_.loop(), options));
}

TEST_F(ClientTest, AServerThatSendsNothingTimesOut) {
    trust();
    auto pipe = testing::make_pipe(world_.loop());
    testing::TransportPeer silent(world_.loop(), std::move(pipe.far));
    testing::TransportPeer peer(world_.loop(), client_->wrap(std::move(pipe.near), "localhost"));
    world_.advance(11s);
    EXPECT_TRUE(peer.was_reset());
    EXPECT_EQ(client_->counters().failures(Failure::deadline), 1U);
}

// The last message of a server is the cause of the failure, not that it left.
TEST_F(ClientTest, ReportsWhatAServerSentLast) {
    trust();
    const auto fails_by = [&](Failure why, ByteView last_words) {
        auto pipe = testing::make_pipe(world_.loop());
        testing::TransportPeer server(world_.loop(), std::move(pipe.far));
        testing::TransportPeer peer(world_.loop(),
                                    client_->wrap(std::move(pipe.near), "localhost"));
        world_.settle();
        const std::uint64_t before = client_->counters().failures(why);
        server.say(last_words);
        server.close();
        world_.settle();
        EXPECT_TRUE(peer.over());
        return client_->counters().failures(why) - before;
    };
    const ByteView unknown_name("\x15\3\3\0\2\2\x70", 7);
    // Fatal, though it is the alert of an orderly end, whose number is 0.
    const ByteView close_notify("\x15\3\3\0\2\2\0", 7);
    const ByteView part_of_a_record("\x16\3\3\0\x50\2", 6);
    const ByteView mariadb_greeting(
        "\x4a\0\0\0\x0a"
        "11.4.2",
        11);
    EXPECT_EQ(fails_by(Failure::not_tls, "HTTP/1.1 400 Bad Request\r\n\r\n"), 1U);
    EXPECT_EQ(fails_by(Failure::not_tls, "SSH-2.0-OpenSSH_9.2\r\n"), 1U);
    EXPECT_EQ(fails_by(Failure::not_tls, "220 mail.test\r\n"), 1U);
    EXPECT_EQ(fails_by(Failure::not_tls, mariadb_greeting), 1U);
    EXPECT_EQ(fails_by(Failure::peer_alert, unknown_name), 1U);
    EXPECT_EQ(fails_by(Failure::peer_alert, close_notify), 1U);
    EXPECT_EQ(fails_by(Failure::peer_gone, part_of_a_record), 1U);
    EXPECT_EQ(fails_by(Failure::peer_gone, ""), 1U);
}

}  // namespace
}  // namespace tiderace::tls
