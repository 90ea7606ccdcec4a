// A WebSocket's life on the server's side: messages, faults, the closing handshake, deadlines, slow
// receivers. On every engine where it touches the network's behaviour.
#include "tiderace/http/websocket/connection.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tiderace/log/logger.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {
namespace {

using testing::client_frame;
using testing::FakeWorld;
using testing::FrameBits;
using testing::Peer;
using testing::WebSocketStage;
using testing::World;
using Opcode = wire::WebSocketOpcode;

constexpr FrameBits unfinished{.final = false};
const std::string deflate = "Sec-WebSocket-Extensions: permessage-deflate\r\n";

std::string close_frame(std::uint16_t code, const std::string& reason = "") {
    const char bytes[] = {static_cast<char>(code >> 8), static_cast<char>(code & 255)};
    return client_frame(Opcode::close, std::string(bytes, 2) + reason);
}

class WebSocketOnEveryEngine : public ::testing::TestWithParam<std::string> {
  protected:
    std::unique_ptr<World> world_ = testing::make_world(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Engines, WebSocketOnEveryEngine,
                         ::testing::ValuesIn(testing::main_world_names()),
                         [](const auto& test) { return testing::label_of_world(test.param); });

TEST_P(WebSocketOnEveryEngine, EchoesTextAndBinaryOfEveryLengthForm) {
    WebSocketStage stage(*world_);
    auto peer = stage.open();
    ASSERT_NE(peer, nullptr);
    std::string expected;
    for (const std::size_t size : {0u, 1u, 125u, 126u, 65'535u, 65'536u, 300'000u}) {
        const std::string payload(size, 'x');
        peer->say(client_frame(Opcode::binary, payload));
        expected +=
            (expected.empty() ? "" : " ") +
            (size > 64 ? "binary(" + std::to_string(size) + " bytes)" : "binary(" + payload + ")");
    }
    peer->say(client_frame(Opcode::text, "κόσμε"));
    expected += " text(κόσμε)";
    EXPECT_TRUE(stage.hears(*peer, expected)) << stage.heard(*peer);
}

TEST_P(WebSocketOnEveryEngine, PutsFragmentsTogetherAndAnswersPingsAmongThem) {
    WebSocketStage stage(*world_);
    auto peer = stage.open();
    peer->say(client_frame(Opcode::text, "one ", unfinished));
    peer->say(client_frame(Opcode::ping, "still there"));
    peer->say(client_frame(Opcode::continuation, "two ", unfinished));
    peer->say(client_frame(Opcode::continuation, "three"));
    EXPECT_TRUE(stage.hears(*peer, "pong(still there) text(one two three)"));
}

TEST(WebSocketConnection, CutsACloseReasonBetweenTwoCharactersAndNoSooner) {
    const std::string a121(121, 'a');
    const std::pair<std::string, std::string> reasons[] = {
        {a121 + "bc", a121 + "bc"},   // 123 bytes
        {a121 + "bcd", a121 + "bc"},  // a byte too many
        {a121 + "é", a121 + "é"},     // 123
        {a121 + "bé", a121 + "b"},    // 124: é does not fit
        {a121 + "€", a121},           // 124: three bytes of one character
        {a121 + "\U0001F600", a121},  // 125: four
    };
    for (const auto& [given, sent] : reasons) {
        FakeWorld world;
        WebSocketStage stage(world);
        const auto peer = stage.open();
        world.loop().assert_on_loop();
        stage.sockets()[0]->close(1000, given);
        EXPECT_TRUE(stage.hears(*peer, "close(1000 " + sent + ")")) << stage.heard(*peer);
    }
}

// With `fragments` a compressed message comes whole, as a last piece.
TEST(WebSocketConnection, ACompressedMessageIsOnePieceWherePiecesAreAskedFor) {
    FakeWorld world;
    WebSocketOptions options;
    options.fragments = true;
    WebSocketStage stage(world, options);
    const auto peer = stage.open(deflate);
    ASSERT_NE(peer, nullptr);
    const std::string hello("\xf2\x48\xcd\xc9\xc9\x07\x00", 7);  // "Hello" (RFC 7692, 7.2.3.1)
    peer->say(client_frame(Opcode::text, hello.substr(0, 3), {.final = false, .compressed = true}));
    peer->say(client_frame(Opcode::continuation, hello.substr(3)));
    world.settle();
    EXPECT_EQ(stage.told(), "open piece(Hello) end");
}

TEST_P(WebSocketOnEveryEngine, ClosesInOrderWhenThePeerDoes) {
    WebSocketStage stage(*world_);
    auto peer = stage.open();
    peer->say(close_frame(4321, "enough"));
    EXPECT_TRUE(stage.run_until([&] { return peer->ended(); }));
    EXPECT_EQ(stage.heard(*peer), "close(4321)");
    peer->finish();
    EXPECT_TRUE(stage.run_until([&] { return stage.sockets().empty(); }));
    EXPECT_EQ(stage.told(), "open closed(4321 enough)");
}

TEST_P(WebSocketOnEveryEngine, TellsThatAPeerVanished) {
    WebSocketStage stage(*world_);
    auto peer = stage.open();
    peer->say(client_frame(Opcode::text, "half of ", unfinished));
    peer->reset();
    EXPECT_TRUE(stage.run_until([&] { return stage.sockets().empty(); }));
    EXPECT_EQ(stage.told(), "open closed(1006)");
}

TEST_P(WebSocketOnEveryEngine, MakesAPeerThatDoesNotReadWaitWithItsMessages) {
    WebSocketStage stage(*world_);
    auto peer = stage.open();
    peer->set_listening(false);
    const std::string frame = client_frame(Opcode::binary, std::string(20'000, 'x'));
    constexpr int messages = 500;  // 10 MB: more than both ends' sockets and our queue hold
    for (int i = 0; i < messages; ++i) peer->say(frame);
    for (int i = 0; i < 200; ++i) world_->loop().turn(Duration::zero());
    ASSERT_EQ(stage.sockets().size(), 1u);
    EXPECT_LE(stage.sockets()[0]->connection().queue_bytes(),
              stage.sockets()[0]->connection().limits().queue_bytes_high + 64_KiB);
    peer->set_listening(true);
    const std::size_t all = messages * (4 + 20'000);
    EXPECT_TRUE(stage.run_until(
        [&] { return peer->heard().size() - peer->heard().find("\r\n\r\n") - 4 == all; }));
    EXPECT_EQ(stage.service().counters().messages_out, messages);
}

// --- from here on the engine makes no difference ----------------------------------------------

class WebSocketLife : public ::testing::Test {
  protected:
    // The messages that the peer and the handler receive after these bytes.
    void expect(const std::string& bytes, const std::string& heard, const std::string& told,
                WebSocketOptions options = {}, const std::string& fields = "") {
        WebSocketStage stage(world_, std::move(options));
        auto peer = stage.open(fields);
        ASSERT_NE(peer, nullptr);
        peer->say(bytes);
        world_.settle();
        peer->finish();
        world_.settle();
        EXPECT_EQ(stage.heard(*peer), heard);
        EXPECT_EQ(stage.told(), told);
        EXPECT_TRUE(peer->over());
        EXPECT_TRUE(stage.sockets().empty());
    }

    FakeWorld world_;
};

TEST_F(WebSocketLife, AnswersEachFaultWithItsCodeAndEnds) {
    struct Case {
        std::string bytes, heard, told;
    };
    const Case cases[] = {
        {client_frame(Opcode::text, "x", {.masked = false}), "close(1002 frame not masked)",
         "open closed(1002 frame not masked)"},
        {"\x83\x80????", "close(1002 unknown opcode)", "open closed(1002 unknown opcode)"},
        {client_frame(Opcode::text, "x", {.compressed = true}), "close(1002 reserved bit set)",
         "open closed(1002 reserved bit set)"},
        {client_frame(Opcode::continuation, "x"), "close(1002 nothing to continue)",
         "open closed(1002 nothing to continue)"},
        {client_frame(Opcode::text, "\xc3\x28"), "close(1007 not UTF-8)",
         "open closed(1007 not UTF-8)"},
        {client_frame(Opcode::text, "cut \xe2\x82"), "close(1007 not UTF-8)",
         "open closed(1007 not UTF-8)"},
        {close_frame(1005), "close(1002 close code that may not be sent)",
         "open closed(1002 close code that may not be sent)"},
        {client_frame(Opcode::close, "x"), "close(1002 close payload of one byte)",
         "open closed(1002 close payload of one byte)"},
        {close_frame(1000, "\xff"), "close(1007 not UTF-8)", "open closed(1007 not UTF-8)"},
    };
    for (const Case& one : cases) {
        // The fault is what the log wants, too; what follows it is not looked at.
        expect(one.bytes + client_frame(Opcode::text, "ignored"), one.heard, one.told);
    }
}

TEST_F(WebSocketLife, RefusesBrokenTextBeforeTheMessageIsWhole) {
    WebSocketStage stage(world_);
    auto peer = stage.open();
    peer->say(client_frame(Opcode::text, "good so far \xce", unfinished));
    world_.settle();
    EXPECT_EQ(stage.heard(*peer), "");
    peer->say(client_frame(Opcode::continuation, "\xba then \xff", unfinished));
    world_.settle();
    EXPECT_EQ(stage.heard(*peer), "close(1007 not UTF-8)");
}

TEST_F(WebSocketLife, GivesTheSameAnswerAtEverySplit) {
    const std::string bytes =
        client_frame(Opcode::text, "Hel", unfinished) + client_frame(Opcode::ping, "p") +
        client_frame(Opcode::continuation, "lo \xce\xba") +
        client_frame(Opcode::binary, std::string(130, 'x')) + close_frame(1001, "away");
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        WebSocketStage stage(world_);
        auto peer = stage.open();
        peer->say(ByteView(bytes).substr(0, cut));
        world_.settle();
        peer->say(ByteView(bytes).substr(cut));
        peer->finish();
        world_.settle();
        ASSERT_EQ(stage.heard(*peer), "pong(p) text(Hello \xce\xba) binary(130 bytes) close(1001)")
            << cut;
        ASSERT_EQ(stage.told(), "open text(Hello \xce\xba) binary(130 bytes) closed(1001 away)");
    }
}

TEST_F(WebSocketLife, TakesWhatCameTogetherWithTheRequest) {
    WebSocketStage stage(world_);
    auto peer = stage.connect();
    peer->say(WebSocketStage::request() + client_frame(Opcode::text, "early"));
    world_.settle();
    EXPECT_EQ(stage.heard(*peer), "text(early)");
}

TEST_F(WebSocketLife, ItsEndIsReportedOnceWithACloseFrameAndWithout) {
    for (const bool says_close : {false, true}) {
        WebSocketStage stage(world_);
        int ends = 0;
        stage.when_ended = [&](WebSocketConnection&) { ++ends; };
        auto peer = stage.open();
        if (says_close) peer->say(close_frame(1000));
        peer->finish();
        world_.settle();
        EXPECT_EQ(ends, 1) << says_close;
        EXPECT_TRUE(stage.sockets().empty());
    }
}

TEST_F(WebSocketLife, BeginsTheClosingHandshakeAndDropsWhatComesMeanwhile) {
    WebSocketStage stage(world_);
    auto peer = stage.open();
    stage.sockets()[0]->close(1000, "that is all");
    EXPECT_EQ(stage.sockets()[0]->send_text("too late"), WebSocketSend::closed);
    stage.sockets()[0]->ping("too late");
    stage.sockets()[0]->close(1001);
    peer->say(client_frame(Opcode::text, "under way"));
    peer->say(client_frame(Opcode::ping, "under way"));
    peer->say(close_frame(1000));
    peer->finish();
    world_.settle();
    EXPECT_EQ(stage.heard(*peer), "close(1000 that is all)");
    EXPECT_EQ(stage.told(), "open closed(1000)");
}

TEST_F(WebSocketLife, EveryOpcodeInEveryStateOfTheClosingHandshake) {
    struct Row {
        unsigned opcode;
        std::string payload, when_open;
    };
    const Row rows[] = {
        {0, "x", "close(1002 nothing to continue)"},
        {1, "x", "text(x)"},
        {2, "x", "binary(x)"},
        {3, "x", "close(1002 unknown opcode)"},
        {7, "", "close(1002 unknown opcode)"},
        {8, "\x03\xe8", "close(1000)"},
        {9, "x", "pong(x)"},
        {10, "x", ""},
        {11, "", "close(1002 unknown opcode)"},
        {15, "", "close(1002 unknown opcode)"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.opcode);
        const std::string frame = client_frame(static_cast<Opcode>(row.opcode), row.payload);
        WebSocketStage open(world_), closing(world_), closed(world_);
        const auto first = open.open(), second = closing.open(), third = closed.open();
        first->say(frame);
        closing.sockets()[0]->close(1001, "that is all");
        second->say(frame);
        third->say(close_frame(1000, "bye") + frame);
        world_.settle();
        EXPECT_EQ(open.heard(*first), row.when_open);
        // Our close frame was the last one sent; theirs was the last one read.
        EXPECT_EQ(closing.heard(*second), "close(1001 that is all)");
        EXPECT_EQ(closed.heard(*third), "close(1000)");
        for (const auto& peer : {first.get(), second.get(), third.get()}) {
            peer->say(close_frame(1000));
            peer->finish();
        }
        world_.settle();
        for (WebSocketStage* stage : {&open, &closing, &closed}) {
            EXPECT_TRUE(stage->sockets().empty());
            EXPECT_EQ(stage->service().counters().closed, 1U);
        }
    }
}

TEST_F(WebSocketLife, GivesUpOnAPeerThatNeverAnswersTheClose) {
    WebSocketStage stage(world_);
    auto peer = stage.open();
    stage.sockets()[0]->close();
    world_.advance(4s);
    EXPECT_FALSE(peer->over());
    world_.advance(2s);
    EXPECT_TRUE(peer->over());
    EXPECT_EQ(stage.told(), "open closed(1006)");
    EXPECT_EQ(stage.service().counters().timed_out, 1u);
}

TEST_F(WebSocketLife, AsksASilentPeerAndEndsWithoutItsAnswer) {
    WebSocketStage stage(world_);
    auto peer = stage.open();
    auto talker = stage.open();
    for (int i = 0; i < 3; ++i) {
        world_.advance(15s);
        talker->say(client_frame(Opcode::pong, ""));
    }
    world_.settle();
    EXPECT_EQ(stage.heard(*talker), "");
    EXPECT_EQ(stage.heard(*peer), "ping()");
    peer->say(client_frame(Opcode::pong, ""));
    world_.advance(35s);
    EXPECT_FALSE(peer->over());
    world_.advance(60s);
    EXPECT_TRUE(peer->over());
    EXPECT_EQ(stage.heard(*peer), "ping() ping()");
}

TEST_F(WebSocketLife, TellsPeersThatTheServerGoesAway) {
    WebSocketStage stage(world_);
    auto peer = stage.open();
    bool drained = false;
    stage.http().server().drain(world_.loop().now() + 10s, [&] { drained = true; });
    world_.settle();
    EXPECT_EQ(stage.heard(*peer), "close(1001)");
    peer->say(close_frame(1001));
    peer->finish();
    world_.settle();
    EXPECT_TRUE(drained);
}

TEST_F(WebSocketLife, MayBeClosedAndAbortedFromEveryCallback) {
    for (const bool abort : {false, true}) {
        const auto end = [&](WebSocketConnection& socket) {
            abort ? socket.abort() : socket.close(1000);
            EXPECT_EQ(socket.send_text("x"), WebSocketSend::closed);
        };
        {
            WebSocketStage stage(world_);
            stage.when_opened = end;
            auto peer = stage.connect();
            peer->say(WebSocketStage::request() + close_frame(1000));
            peer->finish();
            world_.settle();
            EXPECT_EQ(stage.told(), abort ? "open closed(1006)" : "open closed(1000)");
        }
        WebSocketStage stage(world_);
        stage.echo = false;
        stage.when_told = end;
        auto peer = stage.open();
        peer->say(client_frame(Opcode::text, "now") + client_frame(Opcode::text, "not told") +
                  close_frame(1000));
        peer->finish();
        world_.settle();
        EXPECT_EQ(stage.told(),
                  abort ? "open text(now) closed(1006)" : "open text(now) closed(1000)");
    }
}

// The application's own faults: they end nothing else.
class WebSocketMisuse : public WebSocketLife {
  protected:
    class SteadyTime final : public log::TimeSource {
      public:
        std::int64_t unix_ms() override { return 0; }
    };

    WebSocketMisuse() {
        EXPECT_TRUE(bell_.open());
        world_.loop().set_log(&logger_);
    }
    ~WebSocketMisuse() override { world_.loop().set_log(nullptr); }
    std::string logged() { return log::take_all(ring_); }
    // The peer's frame when the application closes so.
    std::string closed_with(std::uint16_t code, ByteView reason) {
        world_.advance(2s);  // another second, another line
        WebSocketStage stage(world_);
        auto peer = stage.open();
        stage.sockets()[0]->close(code, reason);
        EXPECT_FALSE(stage.sockets()[0]->is_open());
        world_.settle();
        std::string heard = stage.heard(*peer);
        peer->say(close_frame(1000));
        peer->finish();
        world_.settle();
        EXPECT_EQ(stage.told(), "open closed(1000)");
        return heard;
    }

    log::Doorbell bell_;
    log::Ring ring_{16_KiB, bell_};
    SteadyTime time_;
    log::Logger logger_{ring_, time_};
};

TEST_F(WebSocketMisuse, ACloseReasonIsCutBetweenCharactersAndTheLogSaysSo) {
    const std::string full(123, 'r');
    EXPECT_EQ(closed_with(1000, full), "close(1000 " + full + ")");
    EXPECT_EQ(logged(), "");
    EXPECT_EQ(closed_with(1000, full + 'r'), "close(1000 " + full + ")");
    EXPECT_NE(logged().find("123 bytes"), std::string::npos);
    EXPECT_EQ(closed_with(1000, std::string(100'000, 'r')), "close(1000 " + full + ")");
    // 122 bytes, and a character of two, three or four: no half of one is sent.
    for (const std::string character : {"é", "€", "𝄞"}) {
        for (std::size_t before = 124 - character.size(); before < 124; ++before) {
            const std::string letters(before, 'r');
            EXPECT_EQ(closed_with(1000, letters + character), "close(1000 " + letters + ")");
        }
    }
}

TEST_F(WebSocketMisuse, ACloseThatMayNotBeSentIsSentAsOneThatMay) {
    EXPECT_EQ(closed_with(1006, "why"), "close(1011 why)");
    EXPECT_NE(logged().find("close code"), std::string::npos);
    EXPECT_EQ(closed_with(0, ""), "close(1011)");
    EXPECT_EQ(closed_with(1005, "why"), "close()");
    EXPECT_NE(logged().find("needs a code"), std::string::npos);
    EXPECT_EQ(closed_with(1005, ""), "close()");
    EXPECT_EQ(logged(), "");
    EXPECT_EQ(closed_with(1000, "\xff"), "close(1000)");
    EXPECT_NE(logged().find("UTF-8"), std::string::npos);
}

TEST_F(WebSocketMisuse, APingThatIsTooLongIsNotSentAndTheSocketGoesOn) {
    WebSocketStage stage(world_);
    auto peer = stage.open();
    WebSocketConnection& socket = *stage.sockets()[0];
    socket.ping(std::string(126, 'p'));
    EXPECT_EQ(std::ranges::count(logged(), '\n'), 1);
    for (int i = 0; i < 100; ++i) socket.ping(std::string(126, 'p'));
    EXPECT_EQ(logged(), "");  // once a second
    socket.ping(std::string(125, 'p'));
    socket.send_text("still here");
    world_.settle();
    EXPECT_EQ(stage.heard(*peer), "ping(125 bytes) text(still here)");
}

TEST_F(WebSocketMisuse, WhatIsWrittenAfterTheConnectionWasEndedIsIgnored) {
    WebSocketStage stage(world_);
    auto peer = stage.open();
    WebSocketConnection& socket = *stage.sockets()[0];
    socket.connection().finish();
    EXPECT_EQ(socket.send_text("late"), WebSocketSend::closed);
    EXPECT_EQ(socket.send_binary(std::string(100'000, 'x')), WebSocketSend::closed);
    socket.ping("late");
    socket.close(1000);
    world_.settle();
    EXPECT_EQ(stage.heard(*peer), "");
    peer->finish();
    world_.settle();
    EXPECT_EQ(stage.told(), "open closed(1006)");
}

TEST_F(WebSocketLife, IsFoundByItsIdUntilItCloses) {
    WebSocketStage stage(world_);
    auto first = stage.open();
    auto second = stage.open();
    const WebSocketId one = stage.sockets()[0]->id();
    const WebSocketId other = stage.sockets()[1]->id();
    EXPECT_FALSE(one == other);
    EXPECT_EQ(stage.service().find(one), stage.sockets()[0]);
    EXPECT_EQ(stage.service().find(other), stage.sockets()[1]);
    first->reset();
    world_.settle();
    EXPECT_EQ(stage.service().find(one), nullptr);
    auto third = stage.open();
    EXPECT_EQ(stage.service().find(one), nullptr);  // its place has another by now
    EXPECT_EQ(stage.service().size(), 2u);
    EXPECT_EQ(stage.service().find(WebSocketId{}), nullptr);
}

TEST_F(WebSocketLife, DeliversNothingWhileReadingIsOff) {
    WebSocketStage stage(world_);
    stage.echo = false;
    stage.when_told = [](WebSocketConnection& socket) { socket.set_reading(false); };
    auto peer = stage.open();
    peer->say(client_frame(Opcode::text, "1") + client_frame(Opcode::text, "2"));
    world_.settle();
    EXPECT_EQ(stage.told(), "open text(1)");
    stage.sockets()[0]->set_reading(true);
    world_.settle();
    EXPECT_EQ(stage.told(), "text(2)");
}

TEST_F(WebSocketLife, GivesPiecesWhereTheyAreWanted) {
    WebSocketOptions options;
    options.fragments = true;
    expect(client_frame(Opcode::text, "one ", unfinished) +
               client_frame(Opcode::continuation, "", unfinished) +
               client_frame(Opcode::continuation, "two") + client_frame(Opcode::text, ""),
           "", "open piece(one ) piece(two) end piece() end closed(1006)", options);
    expect(client_frame(Opcode::text, "one \xce", unfinished) +
               client_frame(Opcode::continuation, "two"),
           "close(1007 not UTF-8)", "open piece(one \xce) closed(1007 not UTF-8)", options);
    expect(client_frame(Opcode::text, "one ", unfinished) +
               client_frame(Opcode::continuation, "two\xff", unfinished),
           "close(1007 not UTF-8)", "open piece(one ) closed(1007 not UTF-8)", options);
    expect(client_frame(Opcode::text, "cut \xce"), "close(1007 not UTF-8)",
           "open closed(1007 not UTF-8)", options);
}

TEST_F(WebSocketLife, BoundsMessagesAndWhatTheyInflateTo) {
    WebSocketOptions options;
    options.message_bytes_max = 1'000;
    expect(client_frame(Opcode::binary, std::string(1'000, 'x')) +
               client_frame(Opcode::binary, std::string(1'001, 'x')),
           "binary(1000 bytes) close(1009 message too large)",
           "open binary(1000 bytes) closed(1009 message too large)", options);
    std::string bomb;
    wire::WebSocketDeflater(15, 9).compress(std::string(900'000, '\0'), false, bomb);
    ASSERT_LT(bomb.size(), 1'000u);
    expect(client_frame(Opcode::binary, bomb, {.compressed = true}),
           "close(1009 message too large)", "open closed(1009 message too large)", options,
           deflate);
    EXPECT_LE(world_.loop().blocks().taken(), 0u);
}

TEST_F(WebSocketLife, InflatesAndDeflates) {
    const std::string message(1'000, 'm');
    std::string payload;
    wire::WebSocketDeflater(15, 6).compress(message, false, payload);
    expect(client_frame(Opcode::text, payload, {.compressed = true}) +
               client_frame(Opcode::text, "small"),
           "deflated text(1000 bytes) text(small)",
           "open text(1000 bytes) text(small) closed(1006)", {}, deflate);
    expect(client_frame(Opcode::text, payload.substr(0, 3), {.final = false, .compressed = true}) +
               client_frame(Opcode::continuation, payload.substr(3)),
           "deflated text(1000 bytes)", "open text(1000 bytes) closed(1006)", {}, deflate);
    expect(client_frame(Opcode::text, "\xff\xff\xff", {.compressed = true}),
           "close(1007 bad compressed data)", "open closed(1007 bad compressed data)", {}, deflate);
    std::string broken_text;
    wire::WebSocketDeflater(15, 6).compress("no UTF-8: \xff", false, broken_text);
    expect(client_frame(Opcode::text, broken_text, {.compressed = true}), "close(1007 not UTF-8)",
           "open closed(1007 not UTF-8)", {}, deflate);
}

TEST_F(WebSocketLife, SendsAsItIsWhatDeflatesToItsOwnSize) {
    WebSocketOptions options;
    options.deflate_bytes_min = 0;
    std::string smaller;
    std::string equal;
    for (std::size_t repeated = 3; repeated < 40 && (equal.empty() || smaller.empty());
         ++repeated) {
        const std::string message = "abcdefghijklmnop" + std::string(repeated, '-');
        std::string payload;
        wire::WebSocketDeflater(15, options.deflate_level).compress(message, false, payload);
        if (payload.size() == message.size()) equal = message;
        if (payload.size() < message.size()) smaller = message;
    }
    ASSERT_NE(equal, "");
    ASSERT_NE(smaller, "");
    WebSocketStage stage(world_, options);
    auto peer = stage.open(deflate);
    peer->say(client_frame(Opcode::text, equal) + client_frame(Opcode::text, smaller));
    world_.settle();
    EXPECT_EQ(stage.heard(*peer), "text(" + equal + ") deflated text(" + smaller + ")");
}

TEST_F(WebSocketLife, KeepsWindowsBothWaysWhereThatWasAgreedOn) {
    WebSocketOptions options;
    options.deflate = {.server_context_takeover = true, .client_context_takeover = true};
    options.deflate_bytes_min = 0;
    WebSocketStage stage(world_, options);
    auto peer = stage.open(deflate);
    wire::WebSocketDeflater deflater(15, 6);
    std::string frames;
    for (int i = 0; i < 3; ++i) {
        std::string payload;
        deflater.compress("the same words again", true, payload);
        frames += client_frame(Opcode::text, payload, {.compressed = true});
    }
    peer->say(frames + client_frame(Opcode::text, "") + client_frame(Opcode::text, ""));
    world_.settle();
    EXPECT_EQ(stage.heard(*peer),
              "deflated text(the same words again) deflated text(the same words again) "
              "deflated text(the same words again) deflated text() deflated text()");
}

}  // namespace
}  // namespace tiderace::http
