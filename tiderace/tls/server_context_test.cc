#include "tiderace/tls/server_context.h"

#include <openssl/evp.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tiderace/log/logger.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/tls/server_fixture.h"

namespace tiderace::tls {
namespace {

using Failure = HandshakeFailure;

TEST_F(ServerTest, IsItsLoopsAlone) {
    serve();
    trust();
    EXPECT_DEATH(
        {
            world_.loop().post([&] { std::thread([&] { context_->wrap(nullptr); }).join(); });
            world_.settle();
        },
        "wrong thread");
    EXPECT_DEATH(
        {
            world_.loop().post(
                [&] { std::thread([&] { client_->wrap(nullptr, "localhost"); }).join(); });
            world_.settle();
        },
        "wrong thread");
}

// OpenSSL's ciphers are fetched once in a process, so this takes one of its own.
TEST(ServerContextDeathTest, WithoutTheCipherOfTicketsNoneIsMade) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto report = [] {
        EVP_set_default_properties(nullptr, "provider=none");
        testing::FakeWorld world;
        const auto made = ServerContext::create(world.loop(), {});
        const std::string text = made ? "made" : made.error().message();
        std::fputs(("(" + text + ")").c_str(), stderr);
        std::_Exit(0);
    };
    EXPECT_EXIT(report(), ::testing::ExitedWithCode(0), "\\(set up TLS: unsupported\\)");
}

// ---- what is negotiated -------------------------------------------------------------------------

TEST_F(ServerTest, SpeaksTheNewestVersionThatTheClientKnows) {
    const struct {
        int version_max;
        const char* name;
    } cases[] = {{TLS1_2_VERSION, "TLSv1.2"}, {TLS1_3_VERSION, "TLSv1.3"}};
    for (const auto& [version_max, name] : cases) {
        const SslContextPtr context = raw_context(TLS1_2_VERSION, version_max);
        RawPeer client = raw(context.get());
        ASSERT_TRUE(shakes_hands(client));
        client.say("hello");
        ASSERT_TRUE(run_until([&] { return client.pump() && client.plain() == "hello"; }));
        EXPECT_EQ(security().version, name);
    }
}

TEST_F(ServerTest, KnowsTheRequestedNameInLowerCase) {
    const SslContextPtr context = raw_context();
    RawPeer client = raw(context.get());
    SSL_set_tlsext_host_name(client.ssl(), "AZ.az-09.Test");
    ASSERT_TRUE(shakes_hands(client));
    ASSERT_TRUE(run_until([&] { return client.pump() && sessions_.secured == 1; }));
    EXPECT_EQ(security().server_name, "az.az-09.test");
}

TEST_F(ServerTest, RefusesOldVersionsWithTheRightAlert) {
    const SslContextPtr context = raw_context(TLS1_VERSION, TLS1_1_VERSION);
    RawPeer client = raw(context.get());
    SSL_set_cipher_list(client.ssl(), "ALL:@SECLEVEL=0");
    ASSERT_TRUE(is_refused(client));
    EXPECT_EQ(client.reason(), SSL_R_TLSV1_ALERT_PROTOCOL_VERSION);
    EXPECT_EQ(failures(Failure::protocol_version), 1U);
}

TEST_F(ServerTest, RefusesCiphersWithoutForwardSecrecyOrAuthentication) {
    for (const char* weak : {"AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA", "NULL", "ADH"}) {
        const SslContextPtr context = raw_context(TLS1_2_VERSION, TLS1_2_VERSION);
        RawPeer client = raw(context.get());
        ASSERT_EQ(SSL_set_cipher_list(client.ssl(), weak), 1) << weak;
        ASSERT_TRUE(is_refused(client)) << weak;
        EXPECT_EQ(client.reason(), SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE) << weak;
    }
    EXPECT_EQ(failures(Failure::no_shared_cipher), 4U);
}

// OpenSSL's own list has more of them.
TEST_F(ServerTest, SharesNoGroupsButItsOwn) {
    const SslContextPtr context = raw_context(TLS1_3_VERSION);
    for (const char* known : {"X25519", "P-256", "P-384"}) {
        RawPeer client = raw(context.get());
        ASSERT_EQ(SSL_set1_groups_list(client.ssl(), known), 1) << known;
        EXPECT_TRUE(shakes_hands(client)) << known;
    }
    for (const char* other : {"P-521", "X448"}) {
        RawPeer client = raw(context.get());
        ASSERT_EQ(SSL_set1_groups_list(client.ssl(), other), 1) << other;
        EXPECT_TRUE(is_refused(client)) << other;
    }
    EXPECT_EQ(failures(Failure::no_shared_cipher), 2U);
}

// A client that guessed a group that we lack answers a HelloRetryRequest, in one piece or many.
TEST_F(ServerTest, AsksAgainForAGroupThatItHas) {
    const SslContextPtr context = raw_context(TLS1_3_VERSION);
    for (const std::size_t step : {std::size_t{1}, std::size_t{100}, std::size_t{10'000}}) {
        RawPeer client = raw(context.get());
        ASSERT_EQ(SSL_set1_groups_list(client.ssl(), "P-521:X25519"), 1);
        client.bytes_max = 0;
        EXPECT_TRUE(run_until([&] {
            client.bytes_max += step;
            return client.pump();
        })) << step;
        client.bytes_max = SIZE_MAX;
        client.say("hello");
        EXPECT_TRUE(run_until([&] { return client.pump() && client.plain() == "hello"; })) << step;
    }
}

TEST_F(ServerTest, LogsInOpensslsWordsWhyAHandshakeFailed) {
    log::Doorbell bell;
    log::Ring ring(64_KiB, bell);
    log::SystemTime time;
    log::Logger logger(ring, time, {.level = log::Level::debug});
    serve();
    world_.loop().set_log(&logger);
    const SslContextPtr context = raw_context(TLS1_2_VERSION, TLS1_2_VERSION);
    RawPeer client = raw(context.get());
    SSL_set_cipher_list(client.ssl(), "AES128-GCM-SHA256");
    ASSERT_TRUE(is_refused(client));
    EXPECT_NE(log::take_all(ring).find("no shared cipher"), std::string::npos);
    world_.loop().set_log(nullptr);
}

TEST_F(ServerTest, ChoosesTheProtocolByItsOwnOrder) {
    const SslContextPtr context = raw_context();
    RawPeer client = raw(context.get());
    SSL_set_alpn_protos(client.ssl(), reinterpret_cast<const unsigned char*>("\x08http/1.1\x02h2"),
                        12);
    ASSERT_TRUE(shakes_hands(client));
    client.say("x");
    ASSERT_TRUE(run_until([&] { return client.pump() && client.plain() == "x"; }));
    EXPECT_EQ(security().protocol, "h2");
}

TEST_F(ServerTest, RefusesAClientThatOffersOtherProtocolsOnlyAndTakesOneThatOffersNone) {
    const SslContextPtr context = raw_context();
    RawPeer other = raw(context.get());
    SSL_set_alpn_protos(other.ssl(),
                        reinterpret_cast<const unsigned char*>("\x03"
                                                               "ftp"),
                        4);
    ASSERT_TRUE(is_refused(other));
    EXPECT_EQ(other.reason(), SSL_AD_REASON_OFFSET + SSL_AD_NO_APPLICATION_PROTOCOL);
    EXPECT_EQ(failures(Failure::no_shared_protocol), 1U);
    RawPeer none = raw(context.get());
    ASSERT_TRUE(shakes_hands(none));
    none.say("x");
    ASSERT_TRUE(run_until([&] { return none.pump() && none.plain() == "x"; }));
    EXPECT_EQ(security().protocol, "");
}

TEST_F(ServerTest, RefusesToNegotiateAnew) {
    const SslContextPtr context = raw_context(TLS1_2_VERSION, TLS1_2_VERSION);
    RawPeer client = raw(context.get());
    ASSERT_TRUE(shakes_hands(client));
    ASSERT_EQ(SSL_renegotiate(client.ssl()), 1);
    SSL_do_handshake(client.ssl());
    client.flush();
    ASSERT_TRUE(run_until([&] {
        client.pump();
        return client.reason() != 0;
    }));
    EXPECT_EQ(client.reason(), SSL_R_NO_RENEGOTIATION);
}

TEST_F(ServerTest, TakesNoEarlyData) {
    const SslContextPtr context = raw_context();
    RawPeer client = raw(context.get());
    ASSERT_TRUE(shakes_hands(client));
    client.say("x");
    ASSERT_TRUE(run_until([&] { return client.pump() && client.plain() == "x"; }));
    EXPECT_EQ(SSL_SESSION_get_max_early_data(SSL_get0_session(client.ssl())), 0U);
}

// A client that sends early data although our ticket does not allow it.
TEST_F(ServerTest, IgnoresUnexpectedEarlyData) {
    const SslContextPtr context = raw_context(TLS1_3_VERSION);
    RawPeer first = raw(context.get());
    ASSERT_TRUE(shakes_hands(first));
    first.say("x");
    ASSERT_TRUE(run_until([&] { return first.pump() && first.plain() == "x"; }));
    const SslSessionPtr session(SSL_SESSION_dup(SSL_get0_session(first.ssl())));
    ASSERT_EQ(SSL_SESSION_set_max_early_data(session.get(), 1'000), 1);
    sessions_.received.clear();
    RawPeer client(world_.loop(), reach(), context.get(), session.get());
    std::size_t written = 0;
    ASSERT_EQ(SSL_write_early_data(client.ssl(), "too early", 9, &written), 1);
    client.flush();
    ASSERT_TRUE(shakes_hands(client));
    EXPECT_EQ(SSL_get_early_data_status(client.ssl()), SSL_EARLY_DATA_REJECTED);
    client.say("in time");
    ASSERT_TRUE(run_until([&] { return client.pump() && client.plain() == "in time"; }));
    EXPECT_EQ(sessions_.received, "in time");
}

// ---- what records have to obey ------------------------------------------------------------------

// Every record that a peer heard, at most so many bytes behind its header.
void expect_records_within(const RawPeer& client, std::size_t bytes_max) {
    for (ByteView rest = client.heard_below(); !rest.empty();) {
        const std::size_t bytes = declared_bytes(rest);
        ASSERT_GE(rest.size(), bytes);
        EXPECT_LE(bytes, Records::header_bytes + bytes_max);
        rest.remove_prefix(bytes);
    }
}

// RFC 6066, 4. A nonce of eight bytes, a type, a tag of sixteen: what ciphers add.
TEST_F(ServerTest, SendsNoLongerFragmentsThanTheClientAllows) {
    const std::string text(50'000, 't');
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        for (int mode = TLSEXT_max_fragment_length_512; mode <= TLSEXT_max_fragment_length_4096;
             ++mode) {
            const SslContextPtr context = raw_context(version, version);
            SSL_CTX_set_tlsext_max_fragment_length(context.get(), static_cast<unsigned char>(mode));
            RawPeer client = raw(context.get());
            ASSERT_TRUE(shakes_hands(client)) << version << ' ' << mode;
            client.say(text);
            EXPECT_TRUE(run_until([&] { return client.pump() && client.plain() == text; }))
                << version << ' ' << mode << ' ' << client.reason();
            EXPECT_EQ(client.reason(), 0);
            expect_records_within(client, (256U << static_cast<unsigned>(mode)) + 24);
            client.end();
        }
    }
}

// RFC 8449: our OpenSSL does not answer it, so it does not hold; one that does must be obeyed.
TEST_F(ServerTest, ObeysARecordSizeLimitThatItAnswered) {
    constexpr unsigned record_size_limit = 28;
    static constexpr unsigned char limit[] = {1'000 >> 8, 1'000 & 255};
    struct Answer {
        bool came = false;
    } answer;
    const SslContextPtr context = raw_context(TLS1_3_VERSION);
    const int added = SSL_CTX_add_custom_ext(
        context.get(), record_size_limit,
        SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_3_ENCRYPTED_EXTENSIONS,
        [](SSL*, unsigned, unsigned, const unsigned char** out, std::size_t* bytes, X509*,
           std::size_t, int*, void*) {
            *out = limit;
            *bytes = sizeof limit;
            return 1;
        },
        nullptr, nullptr,
        [](SSL*, unsigned, unsigned, const unsigned char*, std::size_t, X509*, std::size_t, int*,
           void* about) {
            static_cast<Answer*>(about)->came = true;
            return 1;
        },
        &answer);
    if (added != 1) GTEST_SKIP() << "this OpenSSL does it by itself";
    RawPeer client = raw(context.get());
    ASSERT_TRUE(shakes_hands(client));
    const std::string text(50'000, 't');
    client.say(text);
    ASSERT_TRUE(run_until([&] { return client.pump() && client.plain() == text; }));
    if (answer.came) expect_records_within(client, 1'000 - 1 + 17);
}

// ---- names --------------------------------------------------------------------------------------

TEST_F(ServerTest, ShowsTheCertificateOfTheRequestedName) {
    ServerOptions options = server_options();
    options.certificates = {issue("one", {"one.test"}), issue("two", {"two.test", "*.two.test"})};
    serve(options);
    EXPECT_EQ(shown("one.test"), "one");
    EXPECT_EQ(shown("TWO.test"), "two");
    EXPECT_EQ(shown("www.two.test"), "two");
    EXPECT_EQ(shown("nobody.test"), "one");
    EXPECT_EQ(shown(nullptr), "one");
}

TEST_F(ServerTest, ShowsWhatStandsBehindTheCertificateInItsFile) {
    const SslContextPtr context = raw_context();
    RawPeer client = raw(context.get());
    ASSERT_TRUE(shakes_hands(client));
    EXPECT_EQ(sk_X509_num(SSL_get_peer_cert_chain(client.ssl())), 2);
}

TEST_F(ServerTest, ShowsTheCertificateWhoseKeyTheClientCanVerify) {
    ServerOptions options = server_options();
    options.certificates = {issue("ec", {"a.test"}),
                            issue("rsa", {"a.test"}, testing::KeyKind::rsa_2048)};
    serve(options);
    EXPECT_EQ(shown("a.test"), "ec");
    EXPECT_EQ(shown("a.test", "RSA-PSS+SHA256"), "rsa");
    EXPECT_EQ(shown("a.test", "ECDSA+SHA256"), "ec");
}

// ---- clients' certificates ----------------------------------------------------------------------

class ClientCertificateTest : public ServerTest {
  protected:
    void ask(ClientCertificates mode) {
        ServerOptions options = server_options();
        options.client_certificates = mode;
        options.client_ca = authority_.write(folder_, "clients.pem");
        serve(options);
    }
    // The outcome for a client with the certificate `files`; "" files: none.
    bool comes_in(const CertificateFiles& files, int version) {
        const SslContextPtr context = raw_context(version, version);
        if (!files.certificate.empty()) {
            SSL_CTX_use_certificate_file(context.get(), files.certificate.c_str(),
                                         SSL_FILETYPE_PEM);
            SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM);
        }
        RawPeer client = raw(context.get());
        subject_.clear();
        return run_until([&] {
                   if (client.pump() && client.said() > 0 && client.plain().empty() &&
                       !std::exchange(said_, true)) {
                       client.say("x");
                   }
                   return client.reason() != 0 || client.plain() == "x";
               }) &&
               note(client.plain() == "x");
    }
    bool note(bool in) {
        said_ = false;
        if (in) subject_ = security().client;
        if (in) verified_ = security().client_verified;
        return in;
    }

    testing::Authority strangers_;
    std::string subject_;
    bool verified_ = false;
    bool said_ = false;
};

TEST_F(ClientCertificateTest, AreRequestedAndVerifiedAsTheServerWants) {
    const auto known = authority_.issue(folder_, "known", {.common_name = "known"});
    const auto unknown = strangers_.issue(folder_, "unknown", {.common_name = "unknown"});
    const auto expired =
        authority_.issue(folder_, "expired", {.valid_from = -7'200, .valid_until = -3'600});
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        ask(ClientCertificates::off);
        EXPECT_TRUE(comes_in({}, version));
        EXPECT_TRUE(comes_in(known, version));
        EXPECT_EQ(subject_, "");
        ask(ClientCertificates::optional);
        EXPECT_TRUE(comes_in({}, version));
        EXPECT_EQ(subject_, "");
        EXPECT_FALSE(verified_);
        EXPECT_TRUE(comes_in(known, version));
        EXPECT_EQ(subject_, "CN=known");
        EXPECT_TRUE(verified_);
        EXPECT_FALSE(comes_in(unknown, version));
        ask(ClientCertificates::required);
        EXPECT_FALSE(comes_in({}, version));
        EXPECT_TRUE(comes_in(known, version));
        EXPECT_FALSE(comes_in(unknown, version));
        EXPECT_FALSE(comes_in(expired, version));
        EXPECT_EQ(failures(Failure::certificate), 3U);
    }
}

TEST_F(ClientCertificateTest, AServerThatCannotReadTheAuthorityDoesNotStart) {
    folder_.write("empty", "");
    folder_.write("text", "hello");
    ServerOptions options = server_options();
    options.client_certificates = ClientCertificates::optional;
    for (const char* file : {"none", "empty", "text"}) {
        options.client_ca = folder_.path_of(file);
        const auto made = ServerContext::create(world_.loop(), options);
        ASSERT_FALSE(made) << file;
        EXPECT_NE(made.error().message().find(options.client_ca), std::string::npos);
    }
    options.client_ca = "";
    EXPECT_FALSE(ServerContext::create(world_.loop(), options));
}

// ---- tickets ------------------------------------------------------------------------------------

class TicketTest : public ServerTest {
  protected:
    TicketTest() {
        context_13_ = raw_context();
        SSL_CTX_set_session_cache_mode(context_13_.get(),
                                       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    }
    ~TicketTest() override { SSL_SESSION_free(session_); }

    // One connection that brings the session of the last one, and takes the new one away.
    bool resumes(int version = TLS1_3_VERSION) {
        SSL_CTX_set_max_proto_version(context_13_.get(), version);
        RawPeer client = raw(context_13_.get());
        if (session_ != nullptr) SSL_set_session(client.ssl(), session_);
        EXPECT_TRUE(shakes_hands(client));
        client.say("x");
        EXPECT_TRUE(run_until([&] { return client.pump() && client.plain() == "x"; }));
        const bool reused = SSL_session_reused(client.ssl()) == 1;
        EXPECT_EQ(security().resumed, reused);
        SSL_SESSION_free(session_);
        session_ = SSL_get1_session(client.ssl());
        client.end();
        return reused;
    }

    SslContextPtr context_13_;
    SSL_SESSION* session_ = nullptr;
};

TEST_F(TicketTest, ResumesASession) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        SSL_SESSION_free(std::exchange(session_, nullptr));
        EXPECT_FALSE(resumes(version));
        EXPECT_TRUE(resumes(version));
        EXPECT_TRUE(resumes(version));
    }
    EXPECT_EQ(context_->counters().resumed(), 4U);
}

TEST_F(TicketTest, AResumedSessionKeepsToItsFragments) {
    SSL_CTX_set_tlsext_max_fragment_length(context_13_.get(), TLSEXT_max_fragment_length_512);
    EXPECT_FALSE(resumes());
    for (int i = 0; i < 2; ++i) {
        RawPeer client = raw(context_13_.get());
        SSL_set_session(client.ssl(), session_);
        ASSERT_TRUE(shakes_hands(client));
        EXPECT_EQ(SSL_session_reused(client.ssl()), 1);
        const std::string text(5'000, 't');
        client.say(text);
        ASSERT_TRUE(run_until([&] { return client.pump() && client.plain() == text; }));
        expect_records_within(client, 512 + 17);
        SSL_SESSION_free(session_);
        session_ = SSL_get1_session(client.ssl());
        client.end();
    }
}

TEST_F(TicketTest, AnotherLoopsServerResumesWithTheSameKeys) {
    ServerOptions shared = server_options();
    shared.tickets = std::make_shared<TicketShare>();
    serve(shared);
    EXPECT_FALSE(resumes());
    serve();
    EXPECT_FALSE(resumes());
    serve();
    EXPECT_FALSE(resumes());  // each server without a share has keys of its own
    serve(shared);
    EXPECT_FALSE(resumes());  // the ticket was the third server's
    serve(shared);
    EXPECT_TRUE(resumes());
}

// A look takes a lock that all loops share.
TEST_F(TicketTest, AContextLooksForNewKeysOnceASecondHoweverShortTheirPeriod) {
    ServerOptions options = server_options();
    options.tickets = std::make_shared<TicketShare>(1ms);
    serve(options);
    EXPECT_FALSE(resumes());
    const SslSessionPtr first(SSL_SESSION_dup(session_));
    for (std::size_t i = 0; i < TicketKeys::keys_max; ++i) {
        world_.advance(TicketShare::look_every / 10);
        EXPECT_TRUE(resumes());
    }
    SSL_SESSION_free(std::exchange(session_, SSL_SESSION_dup(first.get())));
    EXPECT_TRUE(resumes()) << "its key was replaced as often as there were connections";
}

TEST_F(TicketTest, AreSealedWithAnotherKeyAfterEachPeriod) {
    ServerOptions options = server_options();
    options.tickets = std::make_shared<TicketShare>(1h);
    serve(options);
    EXPECT_FALSE(resumes());
    // The ticket's own key is known for keys_max periods, and no longer.
    for (std::size_t period = 1; period <= TicketKeys::keys_max + 2; ++period) {
        const SslSessionPtr old(SSL_SESSION_dup(session_));
        SSL_SESSION_set_timeout(old.get(), 24 * 3'600);
        world_.advance(1h);
        SSL_SESSION_free(std::exchange(session_, SSL_SESSION_dup(old.get())));
        EXPECT_EQ(resumes(), period < TicketKeys::keys_max) << period;
        SSL_SESSION_free(std::exchange(session_, SSL_SESSION_dup(old.get())));
    }
}

TEST_F(TicketTest, AreNotTakenWhereClientsAreTrustedOnOtherGrounds) {
    ServerOptions options = server_options();
    options.tickets = std::make_shared<TicketShare>();
    serve(options);
    EXPECT_FALSE(resumes());
    options.client_certificates = ClientCertificates::optional;
    options.client_ca = authority_.write(folder_, "clients.pem");
    serve(options);
    EXPECT_FALSE(resumes());
}

}  // namespace
}  // namespace tiderace::tls
