#include "tiderace/tls/tls_transport.h"

#include <fcntl.h>

#include "tiderace/tls/raw_peer_fixture.h"
#include "tiderace/tls/tls_fixture.h"

namespace tiderace::tls {
namespace {

using Failure = HandshakeFailure;

std::string numbers(std::size_t bytes) {
    std::string made;
    for (int i = 0; made.size() < bytes; ++i) made += std::to_string(i) + ' ';
    return made;
}

class TransportTest : public TlsTest {
  protected:
    std::uint64_t failures(Failure why) { return context_->counters().failures(why); }
    testing::TransportPeer& reach_plainly() {
        if (!server_) serve();
        plain_ = std::make_unique<testing::TransportPeer>(world_.loop(), reach());
        return *plain_;
    }

    std::unique_ptr<testing::TransportPeer> plain_;
};

TEST_F(TransportTest, CarriesBytesBothWays) {
    const auto peer = connect();
    peer->say("hello");
    ASSERT_TRUE(run_until([&] { return peer->heard() == "hello"; }));
    EXPECT_EQ(context_->counters().done(), 1U);
    EXPECT_EQ(client_->counters().done(), 1U);
    ASSERT_NE(sessions_.connection->security(), nullptr);
    EXPECT_EQ(sessions_.connection->security()->version, "TLSv1.3");
    EXPECT_EQ(sessions_.connection->security()->cipher, "TLS_AES_128_GCM_SHA256");
    EXPECT_EQ(sessions_.connection->security()->server_name, "localhost");
    EXPECT_EQ(sessions_.connection->security()->client, "");
    EXPECT_FALSE(sessions_.connection->security()->resumed);
}

TEST_F(TransportTest, CarriesMegabytesInOrder) {
    const std::string sent = numbers(3'000'000);
    const auto peer = connect();
    peer->say(sent);
    ASSERT_TRUE(run_until([&] { return peer->heard().size() >= sent.size(); }));
    EXPECT_TRUE(peer->heard() == sent);
}

// ---- both record layers, against OpenSSL alone --------------------------------------------------

struct Kind {
    const char* name;
    int version;
    const char* suite;  // of TLS 1.3
};

class EveryKind : public TransportTest, public ::testing::WithParamInterface<Kind> {
  protected:
    EveryKind() : ssl_context_(raw_context(GetParam().version, GetParam().version)) {
        if (GetParam().suite != nullptr) {
            SSL_CTX_set_ciphersuites(ssl_context_.get(), GetParam().suite);
        }
    }
    RawPeer raw(const testing::PipeOptions& options = {}) {
        if (!server_) serve();
        return {world_.loop(), reach(options), ssl_context_.get()};
    }
    // True once `client` has heard `wanted`, having said `words`.
    bool talk(RawPeer& client, const std::string& words, const std::string& wanted) {
        bool said = false;
        return run_until([&] {
                   if (client.pump() && !std::exchange(said, true)) client.say(words);
                   return client.plain().size() >= wanted.size();
               }) &&
               client.plain() == wanted;
    }

    SslContextPtr ssl_context_;
};

INSTANTIATE_TEST_SUITE_P(
    , EveryKind,
    ::testing::Values(Kind{"v12", TLS1_2_VERSION, nullptr},
                      Kind{"v13_aes_128", TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256"},
                      Kind{"v13_aes_256", TLS1_3_VERSION, "TLS_AES_256_GCM_SHA384"},
                      Kind{"v13_chacha", TLS1_3_VERSION, "TLS_CHACHA20_POLY1305_SHA256"}),
    [](const auto& kind) { return kind.param.name; });

// All connections of a loop are opened into one buffer: each gets its own bytes of it, and none of
// what was there before.
TEST_P(EveryKind, AReusedBufferShowsNothingOfAnotherConnection) {
    const std::string pattern(60'000, 'p');
    RawPeer one = raw(), two = raw();
    std::string of_one, of_two;
    for (const std::string& words : {std::string("x"), numbers(20'000), std::string("last")}) {
        of_one += pattern;
        ASSERT_TRUE(talk(one, pattern, of_one));
        of_two += words;
        ASSERT_TRUE(talk(two, words, of_two));
    }
}

TEST_P(EveryKind, CarriesMegabytesInOrder) {
    RawPeer client = raw();
    const std::string sent = numbers(1'000'000);
    EXPECT_TRUE(talk(client, sent, sent));
}

// More than the loop's buffer holds, in records that do not fill it evenly.
TEST_P(EveryKind, WhatComesAtOnceIsReceivedToItsLastByte) {
    const std::string sent = numbers(270'000);
    RawPeer client = raw({.capacity = 1'000'000, .bytes_per_delivery_max = 1'000'000});
    ASSERT_TRUE(run_until([&] { return client.pump(); }));
    for (std::size_t at = 0; at < sent.size(); at += 9'000) {
        client.say(ByteView(sent).substr(at, 9'000));
    }
    world_.settle();
    EXPECT_TRUE(sessions_.received == sent) << sessions_.received.size();
}

TEST_P(EveryKind, RecordsMayComeByteByByte) {
    RawPeer client = raw({.bytes_per_delivery_max = 1});
    const std::string sent = numbers(3'000);
    EXPECT_TRUE(talk(client, sent, sent));
}

TEST_P(EveryKind, RecordsMayLeaveByteByByte) {
    RawPeer client = raw({.capacity = 1});
    const std::string sent = numbers(3'000);
    EXPECT_TRUE(talk(client, sent, sent));
}

// The client's bytes after its handshake are in one stream, which is cut in two at every byte.
TEST_P(EveryKind, RecordsMayBeCutAnywhere) {
    for (std::size_t cut = 1;; ++cut) {
        RawPeer client = raw();
        ASSERT_TRUE(run_until([&] { return client.pump(); }));
        world_.settle();
        const std::size_t before = client.said();
        client.bytes_max = before;  // holds back
        SSL_write(client.ssl(), "one", 3);
        SSL_write(client.ssl(), "two", 3);
        char block[500];
        const int got = BIO_read(SSL_get_wbio(client.ssl()), block, sizeof block);
        ASSERT_GT(got, 0);
        const auto bytes = static_cast<std::size_t>(got);
        if (cut >= bytes) break;
        client.below().say({block, cut});
        world_.settle();
        client.below().say({block + cut, bytes - cut});
        ASSERT_TRUE(run_until([&] { return client.pump() && client.plain() == "onetwo"; })) << cut;
        client.below().close();
        world_.settle();
    }
}

TEST_P(EveryKind, ADamagedRecordIsRefusedWithAnAlertAndNothingOfItIsSeen) {
    for (const std::size_t at : {0U, 1U, 3U, 4U, 5U, 10U, 20U}) {
        RawPeer client = raw();
        ASSERT_TRUE(run_until([&] { return client.pump(); }));
        world_.settle();
        sessions_.received.clear();
        client.bytes_max = client.said();
        SSL_write(client.ssl(), "hello", 5);
        char block[100];
        const int got = BIO_read(SSL_get_wbio(client.ssl()), block, sizeof block);
        ASSERT_GT(static_cast<std::size_t>(got), at);
        block[at] ^= 0x20;
        client.below().say({block, static_cast<std::size_t>(got)});
        client.below().say(std::string(20'000, block[0]));  // where the length was made longer
        ASSERT_TRUE(run_until([&] { return sessions_.connection == nullptr; })) << at;
        EXPECT_EQ(sessions_.received, "") << at;
        EXPECT_EQ(sessions_.closed.back(), net::CloseReason::peer_reset) << at;
    }
}

TEST_P(EveryKind, SendsFilesAndMemoryInOrder) {
    const std::string content = numbers(100'000);
    folder_.write("file", content);
    struct File final : core::SharedFile {
        explicit File(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY)) {}
        ~File() override { core::system_kernel().close(descriptor_); }
        int descriptor() const override { return descriptor_; }
        int descriptor_;
    };
    sessions_.on_data = [&](net::Connection& connection, ByteView data) {
        connection.write("head");
        connection.queue().append_file(core::make_ref<File>(folder_.path_of("file")), 10, 90'000);
        connection.written();
        connection.write("tail");
        return data.size();
    };
    serve();
    RawPeer client = raw({.capacity = 10'000});
    EXPECT_TRUE(talk(client, "x", "head" + content.substr(10, 90'000) + "tail"));
}

TEST_P(EveryKind, ASlowReaderThatTakesSomethingIsNotStalled) {
    const std::string answer = numbers(60'000);
    sessions_.on_data = [&](net::Connection& connection, ByteView data) {
        connection.write(answer);
        connection.finish();
        return data.size();
    };
    RawPeer client = raw({.capacity = 300});
    bool said = false;
    ASSERT_TRUE(run_until([&] {
        if (client.pump() && !std::exchange(said, true)) client.say("x");
        return client.plain().size() > 100;
    }));
    // 300 bytes every 20 seconds: out of what is sealed already, for a long time.
    for (int i = 0; i < 30; ++i) {
        client.below().set_listening(false);
        world_.advance(20s);
        client.below().set_listening(true);
        world_.loop().turn(Duration::zero());
        world_.loop().turn(Duration::zero());
        ASSERT_NE(sessions_.connection, nullptr) << i;
    }
    client.below().set_listening(false);
    world_.advance(1min);
    EXPECT_EQ(sessions_.connection, nullptr);
    EXPECT_EQ(sessions_.closed.back(), net::CloseReason::write_stalled);
}

TEST_P(EveryKind, MuchToSendLeavesOthersTheirTurn) {
    const std::string answer = numbers(6'000'000);
    sessions_.on_data = [&](net::Connection& connection, ByteView data) {
        connection.write(data == "much" ? ByteView(answer).substr(0, 3'900'000) : data);
        return data.size();
    };
    RawPeer much = raw({.capacity = 100'000'000});
    const auto other = connect();
    ASSERT_TRUE(run_until([&] { return much.pump(); }));
    much.say("much");
    ASSERT_TRUE(run_until([&] { return much.below().heard().size() > 10'000; }));
    EXPECT_LT(much.below().heard().size(), 2'500'000U);
    other->say("x");
    ASSERT_TRUE(run_until([&] { return other->heard() == "x"; }));
    ASSERT_TRUE(run_until([&] { return much.pump() && much.plain().size() == 3'900'000; }));
    EXPECT_TRUE(much.plain() == answer.substr(0, 3'900'000));
}

TEST_P(EveryKind, EndsInOrderBothWays) {
    RawPeer client = raw();
    ASSERT_TRUE(talk(client, "hello", "hello"));
    client.end();
    ASSERT_TRUE(run_until([&] {
        client.pump();
        return client.ended() && client.below().over();
    }));
    EXPECT_TRUE(client.below().ended());
    EXPECT_EQ(client.reason(), 0);
    EXPECT_EQ(sessions_.closed.back(), net::CloseReason::peer_finished);
}

TEST_P(EveryKind, AnEndThatTheServerAsksForIsInOrder) {
    sessions_.on_data = [](net::Connection& connection, ByteView data) {
        connection.write("bye");
        connection.finish();
        return data.size();
    };
    RawPeer client = raw();
    ASSERT_TRUE(talk(client, "hello", "bye"));
    ASSERT_TRUE(run_until([&] {
        client.pump();
        return client.ended();
    }));
    client.end();
    client.below().finish();
    ASSERT_TRUE(run_until([&] { return sessions_.closed.size() == 1; }));
    EXPECT_EQ(sessions_.closed.back(), net::CloseReason::finished);
}

// An end requested while the peer has no room follows the bytes, without a timer.
TEST_P(EveryKind, AnEndBehindASlowReaderIsSentWhenItHasReadAll) {
    const std::string answer = numbers(60'000);
    sessions_.on_data = [&](net::Connection& connection, ByteView data) {
        connection.write(answer);
        connection.finish();
        return data.size();
    };
    RawPeer client = raw({.capacity = 300});
    bool said = false;
    ASSERT_TRUE(run_until([&] {
        if (client.pump() && !std::exchange(said, true)) client.say("x");
        return client.below().ended();
    }));
    EXPECT_TRUE(client.plain() == answer);
    EXPECT_TRUE(client.ended());
    EXPECT_TRUE(sessions_.closed.empty()) << "our end is waited for";
    EXPECT_LT(world_.elapsed(), 1s);
}

TEST_P(EveryKind, AnAnswerIsSentWholeThoughThePeerHasEndedMeanwhile) {
    const std::string answer = numbers(100'000);
    for (const bool orderly : {true, false}) {
        sessions_.on_data = [&](net::Connection& connection, ByteView data) {
            connection.write(answer);
            orderly ? connection.finish() : connection.close_when_sent();
            return data.size();
        };
        RawPeer client = raw({.capacity = 5'000});
        bool said = false;
        ASSERT_TRUE(run_until([&] {
            if (client.pump() && !std::exchange(said, true)) {
                client.say("x");
                client.end();
            }
            return client.ended();
        }));
        EXPECT_TRUE(client.plain() == answer);
    }
}

// A server that speaks first has written before the handshake. The client's Finished, its end and
// FIN come at once; TLS 1.2 has our Finished between them.
TEST_P(EveryKind, WhatWasWrittenBeforeTheHandshakeReachesAPeerThatEndsRightBehindIt) {
    if (GetParam().version != TLS1_3_VERSION) GTEST_SKIP() << "TLS 1.2 has another order";
    sessions_.on_open = [](net::Connection& connection) { connection.write("in secret"); };
    RawPeer client = raw();
    client.pump();
    client.bytes_max = client.said();  // holds back
    ASSERT_TRUE(run_until([&] { return client.pump(); }));
    client.end();
    client.bytes_max = SIZE_MAX;
    client.flush();
    client.below().finish();
    ASSERT_TRUE(run_until([&] {
        client.pump();
        return client.plain() == "in secret";
    }));
    EXPECT_LT(world_.elapsed(), 1s);
}

TEST_P(EveryKind, AnEndWithoutAWordIsACut) {
    RawPeer client = raw();
    ASSERT_TRUE(talk(client, "hello", "hello"));
    client.below().finish();
    ASSERT_TRUE(run_until([&] { return sessions_.closed.size() == 1; }));
    EXPECT_EQ(sessions_.closed.back(), net::CloseReason::peer_reset);
    EXPECT_EQ(sessions_.peer_finished, 0);
}

TEST_P(EveryKind, ACutOfOursIsNoEnd) {
    sessions_.on_data = [](net::Connection& connection, ByteView data) {
        connection.write("hal");
        connection.flush();
        connection.close(net::CloseReason::aborted);
        return data.size();
    };
    RawPeer client = raw();
    ASSERT_TRUE(talk(client, "hello", "hal"));
    ASSERT_TRUE(run_until([&] { return client.below().over(); }));
    client.pump();
    EXPECT_FALSE(client.ended());
}

TEST_P(EveryKind, AReaderThatStallsPushesBack) {
    const std::string answer = numbers(200'000);
    sessions_.on_data = [&](net::Connection& connection, ByteView data) {
        connection.write(answer);
        return data.size();
    };
    RawPeer client = raw({.capacity = 1'000});
    client.below().set_listening(true);
    bool said = false;
    ASSERT_TRUE(run_until([&] {
        if (client.pump() && !std::exchange(said, true)) client.say("x");
        return client.plain().size() > 5'000;
    }));
    client.below().set_listening(false);
    world_.settle();
    const std::size_t heard = client.below().heard().size();
    EXPECT_LT(heard, 40'000U);
    EXPECT_GT(sessions_.connection->queue_bytes(), 50'000U);
    client.below().set_listening(true);
    ASSERT_TRUE(run_until([&] { return client.pump() && client.plain().size() == answer.size(); }));
    EXPECT_TRUE(client.plain() == answer);
    EXPECT_EQ(world_.loop().blocks().taken(), 0U);
}

// ---- TLS 1.3's own ------------------------------------------------------------------------------

class RecordsTest : public TransportTest {
  protected:
    SslContextPtr ssl_context_ = raw_context(TLS1_3_VERSION);
};

TEST_F(RecordsTest, KeysAreUpdatedWhenThePeerAsks) {
    serve();
    RawPeer client(world_.loop(), reach(), ssl_context_.get());
    ASSERT_TRUE(run_until([&] { return client.pump(); }));
    std::string wanted;
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(SSL_key_update(client.ssl(), i % 3 == 0 ? SSL_KEY_UPDATE_NOT_REQUESTED
                                                          : SSL_KEY_UPDATE_REQUESTED),
                  1);
        client.say("word ");
        wanted += "word ";
        ASSERT_TRUE(run_until([&] { return client.pump() && client.plain() == wanted; })) << i;
    }
}

TEST_F(RecordsTest, AFloodOfKeyUpdatesIsRefusedAndAnsweredByNothing) {
    serve();
    RawPeer client(world_.loop(), reach(), ssl_context_.get());
    ASSERT_TRUE(run_until([&] { return client.pump(); }));
    world_.settle();
    const std::size_t heard = client.below().heard().size();
    for (int i = 0; i < 40; ++i) {
        SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(client.ssl());
        client.flush();
    }
    ASSERT_TRUE(run_until([&] { return sessions_.connection == nullptr; }));
    EXPECT_LT(client.below().heard().size() - heard, 100U);  // an alert
}

// ---- what is not TLS, and what takes too long ---------------------------------------------------

TEST_F(TransportTest, PlainHttpGetsAnAnswerInClearText) {
    auto& peer = reach_plainly();
    peer.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(run_until([&] { return peer.ended(); }));
    EXPECT_LT(world_.elapsed(), 1s) << "the end follows the answer, not the handshake's clock";
    EXPECT_TRUE(peer.heard().starts_with("HTTP/1.1 400 Bad Request\r\n")) << peer.heard();
    EXPECT_TRUE(
        peer.heard().ends_with("\r\n\r\nThis port speaks HTTPS. Use https:// in the URL.\n"));
    const std::size_t head = peer.heard().find("\r\n\r\n") + 4;
    EXPECT_NE(peer.heard().find("Content-Length: " + std::to_string(peer.heard().size() - head)),
              std::string::npos);
    EXPECT_EQ(failures(Failure::plain_http), 1U);
    peer.say("more");
    peer.finish();
    ASSERT_TRUE(run_until([&] { return sessions_.closed.size() == 1; }));
    EXPECT_LT(world_.elapsed(), 1s) << "its end is read, too";
    EXPECT_EQ(failures(Failure::peer_gone), 0U);
}

TEST_F(TransportTest, APlainPeerThatStaysIsClosedByTheHandshakesClock) {
    auto& peer = reach_plainly();
    peer.say("GET / HTTP/1.1\r\n\r\n");
    world_.advance(11s);
    EXPECT_EQ(sessions_.closed.size(), 1U);
    EXPECT_EQ(failures(Failure::deadline), 0U);
}

TEST_F(TransportTest, OtherBytesAreClosedAtOnce) {
    for (const ByteView bytes : {ByteView("\0", 1), ByteView("\x80\x2e\1\3\1"), ByteView("\x18"),
                                 ByteView("hello"), ByteView("\x15\3\1\0\2\2\x28", 7)}) {
        auto& peer = reach_plainly();
        peer.say(bytes);
        ASSERT_TRUE(run_until([&] { return peer.over(); }));
        EXPECT_EQ(peer.heard(), "");
    }
    EXPECT_EQ(failures(Failure::not_tls), 5U);
}

TEST_F(TransportTest, AnInvalidFirstRecordGetsAnAlert) {
    for (const ByteView bytes : {ByteView("\x14\3\3\0\1\1", 6), ByteView("\x17\3\3\0\1x", 6)}) {
        auto& peer = reach_plainly();
        peer.say(bytes);
        ASSERT_TRUE(run_until([&] { return peer.over(); }));
        EXPECT_EQ(peer.heard(), ByteView("\x15\3\3\0\2\2\x0a", 7));
    }
    EXPECT_EQ(failures(Failure::not_tls), 2U);
}

TEST_F(TransportTest, RubbishInAHandshakeRecordIsRefusedWithAnAlert) {
    auto& peer = reach_plainly();
    peer.say(ByteView("\x16\3\1\0\5\1\0\0\1\0", 10));
    ASSERT_TRUE(run_until([&] { return peer.over(); }));
    EXPECT_EQ(peer.heard().substr(0, 1), "\x15");
    EXPECT_EQ(failures(Failure::bad_message), 1U);
}

TEST_F(TransportTest, AStormOfHandshakesDoesNotDelayEstablishedConnections) {
    constexpr std::size_t storm_size = 300;
    ServerOptions options = server_options();
    options.handshakes_per_turn_max = 2;
    serve(options);
    const auto established = connect();
    const auto turns_of_an_answer = [&] {
        const std::string wanted = established->heard() + "x";
        established->say("x");
        int turns = 0;
        for (; turns < 100 && established->heard() != wanted; ++turns) {
            const std::uint64_t done = context_->counters().done();
            world_.loop().turn(Duration::zero());
            EXPECT_LE(context_->counters().done() - done, options.handshakes_per_turn_max);
        }
        return turns;
    };
    ASSERT_LT(turns_of_an_answer(), 100);  // its handshake among them
    const int in_calm = turns_of_an_answer();
    std::vector<std::unique_ptr<testing::TransportPeer>> storm;
    for (std::size_t i = 0; i < storm_size; ++i) {
        storm.push_back(connect());
        storm.back()->say("x");
    }
    // While there is a storm: each takes two steps, so it lasts for as many turns.
    int answers = 0;
    for (; context_->counters().done() < storm_size / 2; ++answers) {
        ASSERT_LE(turns_of_an_answer(), in_calm) << answers;
    }
    EXPECT_GT(answers, 10);
    ASSERT_TRUE(run_until([&] {
        return std::ranges::all_of(storm, [](const auto& peer) { return peer->heard() == "x"; });
    }));
    EXPECT_EQ(context_->counters().done(), storm_size + 1);
}

// ---- ends ---------------------------------------------------------------------------------------

TEST_F(TransportTest, AnOrderlyEndIsReportedInBothDirections) {
    const auto peer = connect();
    peer->say("hello");
    peer->finish();
    ASSERT_TRUE(run_until([&] { return peer->over() && sessions_.closed.size() == 1; }));
    EXPECT_TRUE(peer->ended());
    EXPECT_EQ(peer->heard(), "hello");
    EXPECT_EQ(sessions_.closed.front(), net::CloseReason::peer_finished);
}

TEST_F(TransportTest, ACutStreamIsNeverAnEnd) {
    const auto peer = connect();
    peer->say("hello");
    ASSERT_TRUE(run_until([&] { return peer->heard() == "hello"; }));
    sessions_.connection->close(net::CloseReason::aborted);
    ASSERT_TRUE(run_until([&] { return peer->over(); }));
    EXPECT_FALSE(peer->ended());
    EXPECT_TRUE(peer->was_reset());
}

TEST_F(TransportTest, AnIdleConnectionHoldsNoBlock) {
    const auto peer = connect();
    peer->say(std::string(200'000, 'x'));
    ASSERT_TRUE(run_until([&] { return peer->heard().size() == 200'000; }));
    world_.settle();
    EXPECT_EQ(world_.loop().blocks().taken(), 0U);
    EXPECT_FALSE(sessions_.connection->has_unread());
}

}  // namespace
}  // namespace tiderace::tls
