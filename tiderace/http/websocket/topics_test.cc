#include "tiderace/http/websocket/topics.h"

#include <gtest/gtest.h>

#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::http {
namespace {

using testing::client_frame;
using testing::FakeWorld;
using testing::Peer;
using testing::WebSocketStage;
using Opcode = wire::WebSocketOpcode;

// One loop with a server whose sockets are subscribed to "t" when they open, and publish there what
// they say.
struct Loop {
    explicit Loop(const std::shared_ptr<task::TopicHub>& hub, WebSocketOptions options = {},
                  task::TopicLimits limits = {}) {
        stage.emplace(world, std::move(options));
        topics.emplace(world.loop(), hub, limits);
        stage->service().attach(*topics);
        stage->echo = false;
        stage->when_opened = [this](WebSocketConnection& socket) {
            EXPECT_TRUE(socket.join(*topics, "t"));
        };
    }
    ~Loop() {
        stage->http().server().abort_all();
        world.settle();
        topics.reset();
    }
    void publish(ByteView message) { topics->publish("t", message); }

    FakeWorld world;
    std::optional<WebSocketStage> stage;
    std::optional<Topics> topics;
};

TEST(WebSocketTopics, GiveEverySubscriberEveryMessageInOrder) {
    const auto hub = std::make_shared<task::TopicHub>();
    Loop loop(hub);
    auto first = loop.stage->open();
    auto second = loop.stage->open();
    EXPECT_EQ(loop.topics->members("t"), 2u);
    loop.publish("one");
    loop.topics->publish("t", "two", false);
    loop.topics->publish("elsewhere", "not for them");
    loop.world.settle();
    loop.publish("three");
    loop.world.settle();
    for (const auto* peer : {first.get(), second.get()}) {
        EXPECT_EQ(WebSocketStage::heard(*peer), "text(one) binary(two) text(three)");
    }
}

TEST(WebSocketTopics, LeaveEveryServiceThatTheyWereAttachedTo) {
    FakeWorld world;
    const auto hub = std::make_shared<task::TopicHub>();
    WebSocketService own(world.loop(), {});
    WebSocketService stays(world.loop(), {});
    std::optional<WebSocketService> ends(std::in_place, world.loop(), WebSocketOptions{});
    std::optional<Topics> topics(std::in_place, world.loop(), hub);
    for (WebSocketService* service : {&own, &*ends, &stays}) service->attach(*topics);
    EXPECT_EQ(stays.topics(), &*topics);
    ends.reset();
    topics.reset();
    EXPECT_EQ(own.topics(), nullptr);
    EXPECT_EQ(stays.topics(), nullptr);
}

// More than a batch may hold goes at once, and the next one begins empty.
TEST(WebSocketTopics, DeliverABatchThatIsFullAtOnce) {
    const auto hub = std::make_shared<task::TopicHub>();
    Loop loop(hub, {}, {.batch_bytes_max = 10});
    const auto peer = loop.stage->open();
    net::Connection& connection = loop.stage->sockets()[0]->connection();
    loop.world.loop().assert_on_loop();
    loop.publish("0123456789");
    EXPECT_EQ(connection.queue_bytes(), 0U);
    loop.publish("x");
    EXPECT_EQ(connection.queue_bytes(), 2 + 10 + 2 + 1U);
    loop.publish("0123456789");
    EXPECT_EQ(connection.queue_bytes(), 2 + 10 + 2 + 1U) << "a new batch";
    loop.world.settle();
    EXPECT_EQ(WebSocketStage::heard(*peer), "text(0123456789) text(x) text(0123456789)");
    EXPECT_EQ(loop.stage->service().counters().messages_out, 3U);
}

TEST(WebSocketTopics, TakeNobodyWhoseConnectionEnds) {
    const auto hub = std::make_shared<task::TopicHub>();
    Loop loop(hub);
    const auto peer = loop.stage->open();
    WebSocketConnection& socket = *loop.stage->sockets()[0];
    socket.abort();
    EXPECT_FALSE(socket.join(*loop.topics, "other"));
    EXPECT_EQ(loop.topics->members("other"), 0U);
    EXPECT_EQ(loop.topics->size(), 1U);
}

TEST(WebSocketTopics, KeepTheOrderWithWhatIsSentDirectlyAndWithWhoComesAndGoes) {
    const auto hub = std::make_shared<task::TopicHub>();
    Loop loop(hub);
    auto first = loop.stage->open();
    auto second = loop.stage->open();
    WebSocketConnection& early = *loop.stage->sockets()[0];
    WebSocketConnection& late = *loop.stage->sockets()[1];
    late.leave(*loop.topics, "t");
    loop.publish("1");
    early.send_text("direct");
    loop.publish("2");
    EXPECT_TRUE(late.join(*loop.topics, "t"));
    EXPECT_TRUE(late.join(*loop.topics, "t"));  // once is enough
    loop.publish("3");
    early.leave(*loop.topics, "t");
    loop.publish("4");
    loop.world.settle();
    EXPECT_EQ(WebSocketStage::heard(*first), "text(1) text(direct) text(2) text(3)");
    EXPECT_EQ(WebSocketStage::heard(*second), "text(3) text(4)");
}

TEST(WebSocketTopics, ForgetSocketsThatCloseAndTopicsWithoutAny) {
    const auto hub = std::make_shared<task::TopicHub>();
    Loop loop(hub);
    auto first = loop.stage->open();
    auto second = loop.stage->open();
    first->reset();
    loop.world.settle();
    EXPECT_EQ(loop.topics->members("t"), 1u);
    loop.publish("still there");
    second->close();
    loop.world.settle();
    EXPECT_EQ(loop.topics->size(), 0u);
    loop.publish("nobody");
    loop.world.settle();
    EXPECT_EQ(loop.topics->size(), 0u);
}

// Names that libstdc++'s std::hash<std::string_view> (MurmurHash64A) maps to one value, whatever
// its seed: two words whose mixed forms differ in the top bit only, twice.
std::vector<std::string> names_of_one_hash(unsigned pairs) {
    constexpr std::uint64_t factor = 0xc6a4a7935bd1e995;
    std::uint64_t inverse = 1;
    while (inverse * factor != 1) inverse *= 2 - inverse * factor;  // Newton, modulo 2^64
    const auto word = [&](std::uint64_t mixed) {
        mixed *= inverse;
        mixed ^= mixed >> 47;
        mixed *= inverse;
        return std::string(reinterpret_cast<const char*>(&mixed), sizeof mixed);
    };
    std::vector<std::string> names{""};
    for (std::uint64_t i = 0; i < pairs; ++i) {
        std::vector<std::string> longer;
        for (const std::string& name : names) {
            for (const std::uint64_t top : {std::uint64_t{0}, std::uint64_t{1} << 63}) {
                longer.push_back(name + word((2 * i + 1) ^ top) + word((2 * i + 2) ^ top));
            }
        }
        names = std::move(longer);
    }
    return names;
}

TEST(WebSocketTopics, AreFoundQuicklyWhateverNamesPeersChoose) {
    const auto hub = std::make_shared<task::TopicHub>();
    Loop loop(hub, {}, {.subscriptions_max = 2'000});
    auto peer = loop.stage->open();
    const std::vector<std::string> names = names_of_one_hash(10);
    ASSERT_EQ(names.size(), 1'024u);
    for (const std::string& name : names) {
        ASSERT_TRUE(loop.stage->sockets()[0]->join(*loop.topics, name));
    }
    EXPECT_EQ(loop.topics->size(), names.size() + 1);
    EXPECT_LT(loop.topics->names_in_fullest_bucket(), 16u);
#if defined(__GLIBCXX__) && defined(__LP64__)
    // These names must collide, or this test could not fail.
    EXPECT_EQ(std::hash<std::string>{}(names.front()), std::hash<std::string>{}(names.back()));
#endif
}

TEST(WebSocketTopics, EncodeOnceForEachFormThatIsAgreedOn) {
    const auto hub = std::make_shared<task::TopicHub>();
    Loop loop(hub);
    auto plain = loop.stage->open();
    auto deflated = loop.stage->open("Sec-WebSocket-Extensions: permessage-deflate\r\n");
    auto small = loop.stage->open(
        "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=9\r\n");
    const std::string message(1'000, 'm');
    loop.publish(message);
    loop.publish("short");
    loop.world.settle();
    EXPECT_EQ(WebSocketStage::heard(*plain), "text(1000 bytes) text(short)");
    EXPECT_EQ(WebSocketStage::heard(*deflated), "deflated text(1000 bytes) text(short)");
    EXPECT_EQ(WebSocketStage::heard(*small), "deflated text(1000 bytes) text(short)");
}

// A late subscriber has not seen the messages before.
TEST(WebSocketTopics, EachMessageCanBeReadWithoutThoseBefore) {
    const auto hub = std::make_shared<task::TopicHub>();
    Loop loop(hub);
    constexpr const char* deflate = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    auto early = loop.stage->open(deflate);
    std::string words;
    for (int i = 0; i < 200; ++i) words += std::to_string(i * i) + ' ';
    loop.publish(words);
    loop.world.settle();
    const std::size_t before = early->heard().size();
    auto late = loop.stage->open(deflate);
    loop.publish(words);
    loop.world.settle();
    const std::string bytes = "(" + std::to_string(words.size()) + " bytes)";
    EXPECT_EQ(WebSocketStage::heard(*late), "deflated text" + bytes);
    EXPECT_GT(early->heard().size() - before, words.size() / 5) << "not a mere reference";
}

TEST(WebSocketTopics, SendToSocketsWithAWindowInTheirOwnForm) {
    const auto hub = std::make_shared<task::TopicHub>();
    WebSocketOptions options;
    options.deflate = {.server_context_takeover = true, .client_context_takeover = true};
    options.deflate_bytes_min = 0;
    Loop loop(hub, options);
    auto peer = loop.stage->open("Sec-WebSocket-Extensions: permessage-deflate\r\n");
    for (int i = 0; i < 3; ++i) loop.publish("the same words");
    loop.world.settle();
    EXPECT_EQ(WebSocketStage::heard(*peer),
              "deflated text(the same words) deflated text(the same words) "
              "deflated text(the same words)");
}

TEST(WebSocketTopics, HaveTheirLimits) {
    const auto hub = std::make_shared<task::TopicHub>();
    Loop loop(hub, {}, {.topics_max = 3, .subscriptions_max = 2, .name_bytes_max = 10});
    auto first = loop.stage->open();
    auto second = loop.stage->open();
    WebSocketConnection& one = *loop.stage->sockets()[0];
    WebSocketConnection& other = *loop.stage->sockets()[1];
    EXPECT_TRUE(one.join(*loop.topics, "a"));
    EXPECT_FALSE(one.join(*loop.topics, "b"));
    EXPECT_FALSE(other.join(*loop.topics, "longer than ten"));
    EXPECT_TRUE(other.join(*loop.topics, "b"));
    one.leave(*loop.topics, "a");
    EXPECT_EQ(loop.topics->size(), 2u);
    EXPECT_FALSE(one.join(*loop.topics, "eleven byte"));
    EXPECT_TRUE(one.join(*loop.topics, "ten bytes."));
}

TEST(WebSocketTopics, ReachTheSubscribersOfOtherLoops) {
    const auto hub = std::make_shared<task::TopicHub>();
    Loop here(hub);
    Loop there(hub);
    auto near = here.stage->open();
    auto far = there.stage->open();
    for (int turn = 0; turn < 3; ++turn) {
        here.publish("a" + std::to_string(turn));
        here.publish("b" + std::to_string(turn));
        here.world.settle();
        there.world.settle();
    }
    const std::string all = "text(a0) text(b0) text(a1) text(b1) text(a2) text(b2)";
    EXPECT_EQ(WebSocketStage::heard(*near), all);
    EXPECT_EQ(WebSocketStage::heard(*far), all);
    EXPECT_EQ(here.topics->missed(), 0u);
}

TEST(WebSocketTopics, CountWhatALoopThatDoesNotTurnMisses) {
    const auto hub = std::make_shared<task::TopicHub>();
    Loop here(hub, {}, {.in_flight_bytes_max = 10'000});
    Loop there(hub);
    auto far = there.stage->open();
    for (int i = 0; i < 20; ++i) {
        here.publish(std::string(1'000, 'x'));
        here.world.settle();
    }
    EXPECT_EQ(here.topics->missed(), 10u);
    there.world.settle();
    here.publish("again");
    here.world.settle();
    there.world.settle();
    EXPECT_EQ(here.topics->missed(), 10u);
    EXPECT_TRUE(WebSocketStage::heard(*far).ends_with(" text(again)"));
}

// --- publishers that wait --------------------------------------------------------------------

class WaitingPublisher : public ::testing::Test {
  protected:
    static WebSocketOptions waiting() {
        WebSocketOptions options;
        options.slow_receiver = SlowReceiver::wait;
        return options;
    }
    // A socket that publishes what it says, and reads nothing itself.
    std::unique_ptr<Peer> open_publisher(Loop& loop) {
        auto peer = loop.stage->open();
        WebSocketConnection& socket = *loop.stage->sockets().back();
        socket.leave(*loop.topics, "t");
        loop.stage->when_told = [&loop](WebSocketConnection& publisher) {
            publisher.publish(*loop.topics, "t", WebSocketKind::text, std::string(1'000, 'x'));
        };
        return peer;
    }
    static std::uint64_t heard_messages(const Peer& peer) {
        return (peer.heard().size() - peer.heard().find("\r\n\r\n") - 4) / 1'004;
    }
    static constexpr int messages = 20'000;  // 20 MB: no queue may hold them

    const std::shared_ptr<task::TopicHub> hub_ = std::make_shared<task::TopicHub>();
};

TEST_F(WaitingPublisher, IsNotReadWhileASubscriberIsBehind) {
    Loop loop(hub_, waiting());
    auto slow = loop.stage->open();
    auto quick = loop.stage->open();
    auto publisher = open_publisher(loop);
    slow->set_listening(false);
    for (int i = 0; i < messages; ++i) publisher->say(client_frame(Opcode::text, "go"));
    for (int i = 0; i < 1'000; ++i) loop.world.loop().turn(Duration::zero());
    ASSERT_EQ(loop.stage->sockets().size(), 3u);
    EXPECT_LT(loop.stage->service().counters().messages_in, 10'000u);
    for (WebSocketConnection* socket : loop.stage->sockets()) {
        EXPECT_LE(socket->connection().queue_bytes(),
                  loop.stage->service().options().queue_bytes_max);
    }
    slow->set_listening(true);
    EXPECT_TRUE(loop.stage->run_until([&] { return heard_messages(*slow) == messages; }))
        << heard_messages(*slow);
    EXPECT_EQ(heard_messages(*quick), static_cast<std::uint64_t>(messages));
}

TEST_F(WaitingPublisher, GoesOnWhenTheSlowOneIsGone) {
    Loop loop(hub_, waiting());
    auto slow = loop.stage->open();
    auto quick = loop.stage->open();
    auto publisher = open_publisher(loop);
    slow->set_listening(false);
    for (int i = 0; i < messages; ++i) publisher->say(client_frame(Opcode::text, "go"));
    for (int i = 0; i < 1'000; ++i) loop.world.loop().turn(Duration::zero());
    EXPECT_LT(heard_messages(*quick), static_cast<std::uint64_t>(messages));
    slow->reset();
    EXPECT_TRUE(loop.stage->run_until([&] { return heard_messages(*quick) == messages; }));
}

TEST_F(WaitingPublisher, MayCloseOrVanishWhileItWaits) {
    for (const bool vanish : {false, true}) {
        Loop loop(hub_, waiting());
        auto slow = loop.stage->open();
        auto publisher = open_publisher(loop);
        slow->set_listening(false);
        for (int i = 0; i < messages; ++i) publisher->say(client_frame(Opcode::text, "go"));
        for (int i = 0; i < 1'000; ++i) loop.world.loop().turn(Duration::zero());
        ASSERT_EQ(loop.stage->sockets().size(), 2u);
        vanish ? loop.stage->sockets()[1]->abort() : loop.stage->sockets()[1]->close();
        for (int i = 0; i < 100; ++i) loop.world.loop().turn(Duration::zero());
        slow->set_listening(true);
        loop.world.settle();
    }
}

TEST_F(WaitingPublisher, WaitsForOtherLoopsToo) {
    Loop here(hub_, waiting(), {.in_flight_bytes_max = 200'000});
    Loop there(hub_, waiting(), {.in_flight_bytes_max = 200'000});
    auto far = there.stage->open();
    auto publisher = open_publisher(here);
    for (int i = 0; i < messages; ++i) publisher->say(client_frame(Opcode::text, "go"));
    for (int i = 0; i < 500; ++i) here.world.loop().turn(Duration::zero());
    EXPECT_LT(here.stage->service().counters().messages_in, 10'000u);
    for (int i = 0; i < 10'000 && heard_messages(*far) < messages; ++i) {
        here.world.loop().turn(Duration::zero());
        there.world.loop().turn(Duration::zero());
    }
    EXPECT_EQ(heard_messages(*far), static_cast<std::uint64_t>(messages));
    EXPECT_EQ(here.topics->missed(), 0u);
}

// A full mailbox refuses the post of the loop whose subscriber caught up.
TEST_F(WaitingPublisher, GoesOnWhereTheNoticeToItsLoopIsRefused) {
    Loop here(hub_, waiting(), {.in_flight_bytes_max = 200'000});
    Loop there(hub_, waiting(), {.in_flight_bytes_max = 200'000});
    auto far = there.stage->open();
    auto publisher = open_publisher(here);
    far->set_listening(false);
    for (int i = 0; i < messages; ++i) publisher->say(client_frame(Opcode::text, "go"));
    for (int i = 0; i < 500; ++i) {
        here.world.loop().turn(Duration::zero());
        there.world.loop().turn(Duration::zero());
    }
    ASSERT_LT(here.stage->service().counters().messages_in, static_cast<std::uint64_t>(messages));
    while (here.world.loop().post([] {})) {
    }
    far->set_listening(true);
    there.world.settle();
    for (int i = 0; i < 10'000 && heard_messages(*far) < messages; ++i) {
        here.world.advance(1ms);
        there.world.advance(1ms);
    }
    EXPECT_EQ(heard_messages(*far), static_cast<std::uint64_t>(messages));
    EXPECT_EQ(here.topics->missed(), 0u);
}

}  // namespace
}  // namespace tiderace::http
