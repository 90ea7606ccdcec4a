// Topics of an App: members on several loops, which are several clients of one App here.
#include "tiderace/http/app/websocket/topic_events.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "tiderace/app.h"
#include "tiderace/testing.h"
#include "tiderace/websocket.h"

namespace tiderace::http {
namespace {

std::string next(testing::WebSocket& socket) {
    const auto message = socket.receive();
    return message ? message->text() : "nothing";
}

App make_app(WebSocketOptions options = {}, task::TopicLimits limits = {}) {
    App app;
    app.state<Topics>(topics(limits));
    app.ws<"/rooms/{name}">(
        [](WebSocket& socket, std::string name, Topics& topics) -> Task<> {
            if (!socket.join(topics, name)) {
                socket.close(wire::websocket_close::try_again_later, "no more rooms");
                co_return;
            }
            while (auto message = co_await socket.receive()) {
                if (message->text() == "leave") {
                    socket.leave(topics, name);
                } else {
                    topics.publish(name, *message);
                }
            }
        },
        options);
    app.post<"/rooms/{name}">([](std::string name, Body body, Topics& topics) {
        topics.publish(name, body.text());
        return std::to_string(topics.members(name)) + " here\n";
    });
    return app;
}

TEST(Topics, ReachEveryMemberAndNobodyElse) {
    const App app = make_app();
    testing::Client client(app);
    auto ann = client.websocket("/rooms/a");
    auto bob = client.websocket("/rooms/a");
    auto eve = client.websocket("/rooms/b");
    ann.send("hello");
    EXPECT_EQ(next(ann), "hello");
    EXPECT_EQ(next(bob), "hello");
    bob.send("leave");
    ann.send("alone");
    EXPECT_EQ(next(ann), "alone");
    EXPECT_EQ(next(bob), "nothing");
    EXPECT_EQ(next(eve), "nothing");
    EXPECT_EQ(client.post("/rooms/a", "from a handler").body, "1 here\n");
    EXPECT_EQ(next(ann), "from a handler");
    ann.disconnect(true);
    EXPECT_EQ(client.post("/rooms/a", "to nobody").body, "0 here\n");
}

TEST(Topics, ReachTheOtherLoops) {
    const App app = make_app();
    testing::Client one(app);
    testing::Client two(app);
    auto ann = one.websocket("/rooms/a");
    auto bob = two.websocket("/rooms/a");
    for (int i = 0; i < 100; ++i) ann.send(std::to_string(i));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(next(bob), std::to_string(i));
    bob.send("back");
    for (int i = 0; i < 100; ++i) EXPECT_EQ(next(ann), std::to_string(i));
    EXPECT_EQ(next(ann), "back");
}

App with_events(TopicEvents options = {}, task::TopicLimits limits = {}) {
    App app = make_app({}, limits);
    app.get<"/rooms/{name}/events">([options](std::string name, Topics& topics) {
        return events(topics, std::move(name), options);
    });
    return app;
}

std::string data(testing::Stream& stream) {
    const auto event = stream.next_event();
    return event ? event->event + ":" + event->data : "nothing";
}

TEST(Topics, ReachEventStreamsBesideSockets) {
    const App app = with_events({.event = "news"});
    testing::Client client(app);
    auto ann = client.open("/rooms/a/events");
    auto bob = client.websocket("/rooms/a");
    auto eve = client.open("/rooms/b/events");
    bob.send("one\ntwo");
    EXPECT_EQ(next(bob), "one\ntwo");
    EXPECT_EQ(data(ann), "news:one\ntwo");
    EXPECT_EQ(data(eve), "nothing");
    bob.send_binary("\xff");
    EXPECT_EQ(next(bob), "\xff");
    EXPECT_EQ(client.post("/rooms/a", "three").body, "2 here\n");
    EXPECT_EQ(data(ann), "news:three") << "no text, no event";
    ann.close();
    client.post("/rooms/a", "four");  // sending it shows that she is gone
    EXPECT_EQ(client.post("/rooms/a", "five").body, "1 here\n");
}

TEST(Topics, ReachEventStreamsOfTheOtherLoops) {
    const App app = with_events();
    testing::Client one(app);
    testing::Client two(app);
    auto ann = one.open("/rooms/a/events");
    for (int i = 0; i < 100; ++i) two.post("/rooms/a", std::to_string(i));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(data(ann), "message:" + std::to_string(i));
}

TEST(Topics, KeepAnEventStreamAlive) {
    const App app = with_events({.keep_alive = 10s});
    testing::Client client(app);
    auto ann = client.open("/rooms/a/events");
    EXPECT_EQ(data(ann), "nothing");
    client.advance(25s);
    EXPECT_EQ(ann.read(), ": keep-alive\n\n: keep-alive\n\n");
    client.post("/rooms/a", "hello");
    EXPECT_EQ(data(ann), "message:hello");
}

TEST(Topics, EndAnEventStreamThatReadsTooSlowly) {
    const App app = with_events({.queue_bytes_max = 100'000});
    testing::Client client(app);
    auto ann = client.open("/rooms/a/events");
    auto bob = client.open("/rooms/a/events");
    const std::string large(50'000, 'x');
    int sent = 0;
    while (client.post("/rooms/a", large).body == "2 here\n") {
        EXPECT_EQ(data(bob), "message:" + large);
        ASSERT_LT(++sent, 1'000);
    }
    int received = 0;
    while (data(ann) == "message:" + large) ++received;
    EXPECT_TRUE(ann.ended());
    EXPECT_LT(received, sent);
    EXPECT_GT(received, 0);
    client.post("/rooms/a", "still here");
    EXPECT_EQ(data(bob), "message:" + large);
    EXPECT_EQ(data(bob), "message:still here");
}

TEST(Topics, EndAnEventStreamOfATopicTooMany) {
    const App app = with_events({}, {.topics_max = 1});
    testing::Client client(app);
    auto ann = client.open("/rooms/a/events");
    auto bob = client.open("/rooms/b/events");
    EXPECT_FALSE(ann.ended());
    EXPECT_TRUE(bob.ended());
}

// The hub is the App's: loops that ended leave nothing in it.
TEST(Topics, OutliveTheLoopsThatUsedThem) {
    const App app = make_app();
    for (int i = 0; i < 300; ++i) {  // more than there may be loops at a time
        testing::Client client(app);
        auto ann = client.websocket("/rooms/a");
        ann.send("hello");
        EXPECT_EQ(next(ann), "hello");
    }
}

TEST(Topics, AreBounded) {
    const App app = make_app({}, {.topics_max = 2, .name_bytes_max = 4});
    testing::Client client(app);
    auto one = client.websocket("/rooms/one");
    auto two = client.websocket("/rooms/two");
    auto three = client.websocket("/rooms/3");
    EXPECT_TRUE(three.ended());
    EXPECT_EQ(three.close_code(), 1013);
    EXPECT_EQ(three.close_reason(), "no more rooms");
    one.disconnect();
    EXPECT_TRUE(client.websocket("/rooms/long name").ended());
    auto again = client.websocket("/rooms/3");
    EXPECT_FALSE(again.ended());
}

TEST(Topics, CloseAMemberThatIsTooSlowAndKeepTheOthers) {
    const App app = make_app({.queue_bytes_max = 256_KiB, .compression = false});
    testing::Client client(app);
    auto slow = client.websocket("/rooms/a");  // it receives only on request
    auto ann = client.websocket("/rooms/a");
    const std::string block(10'000, 'x');
    for (int i = 0; i < 200; ++i) {
        ann.send(block);
        ASSERT_EQ(next(ann), block) << i;
    }
    int got = 0;
    while (slow.receive()) ++got;
    EXPECT_GT(got, 20);
    EXPECT_LT(got, 200);
    EXPECT_TRUE(slow.ended());
    EXPECT_EQ(slow.close_code(), 1008);
    EXPECT_EQ(slow.close_reason(), "messages are taken too slowly");
    ann.send("still here");
    EXPECT_EQ(next(ann), "still here");
}

}  // namespace
}  // namespace tiderace::http
