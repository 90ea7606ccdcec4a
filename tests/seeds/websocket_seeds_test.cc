// WebSockets in every weather: echo and topics, good frames and bad ones, slow and vanishing peers.
// A peer receives whole lawful frames, the last one perhaps cut; each socket that opened
// closes once; nothing is left over.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/seeds/seed_runner.h"
#include "tiderace/http/websocket/topics.h"
#include "tiderace/testing/websocket_stage.h"

namespace tiderace::testing {
namespace {

using http::wire::WebSocketOpcode;
using http::wire::WebSocketReader;

std::string random_payload(Random& random) {
    static constexpr std::size_t sizes[] = {1, 130, 1'000, 70'000};
    return std::string(random.below(sizes[random.below(std::size(sizes))]), 'x');
}

std::string random_message(Random& random) {
    const auto opcode = random.chance(1, 2) ? WebSocketOpcode::text : WebSocketOpcode::binary;
    switch (random.below(8)) {
        case 0:
            return client_frame(WebSocketOpcode::ping, "are you there");
        case 1:
            return client_frame(opcode, random_payload(random), {.final = false}) +
                   client_frame(WebSocketOpcode::ping, "") +
                   client_frame(WebSocketOpcode::continuation, random_payload(random));
        case 2: {
            std::string deflated;
            http::wire::WebSocketDeflater(15, 1).compress(random_payload(random), false, deflated);
            return client_frame(opcode, deflated, {.compressed = true});
        }
        case 3: {  // broken somewhere
            std::string frame = client_frame(opcode, random_payload(random));
            frame[random.below(frame.size())] = static_cast<char>(random.below(256));
            return random.chance(1, 3) ? frame : client_frame(opcode, "whole");
        }
        default:
            return client_frame(opcode, random_payload(random));
    }
}

struct WebSocketTalker {
    std::unique_ptr<FakePeer> peer;
    std::string bytes;
    bool gave_up = false;

    bool done() const { return gave_up || peer->over() || peer->refused(); }
};

std::string random_talk(Random& random) {
    std::string bytes = WebSocketStage::request(
        random.chance(2, 3) ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "");
    for (std::uint64_t messages = random.below(8); messages > 0; --messages) {
        bytes += random_message(random);
    }
    if (random.chance(1, 2)) bytes += client_frame(WebSocketOpcode::close, "\x03\xe8");
    return bytes;
}

void plan_talk(FakeWorld& world, Random& random, WebSocketTalker& talker) {
    FakeNetwork& network = world.network();
    Instant when = world.clock().now() + std::chrono::milliseconds(random.below(200));
    for (std::size_t from = 0; from < talker.bytes.size();) {
        const std::size_t bytes = 1 + random.below(talker.bytes.size() - from);
        network.at(when, [&talker, from, bytes] {
            if (!talker.gave_up) talker.peer->say(ByteView(talker.bytes).substr(from, bytes));
        });
        from += bytes;
        when += std::chrono::milliseconds(random.below(100));
    }
    if (random.chance(1, 6)) network.at(when, [&talker] { talker.peer->set_listening(false); });
    const std::uint64_t ending = random.below(4);
    network.at(when + std::chrono::milliseconds(random.below(2'000)), [&talker, ending] {
        if (ending == 0) talker.peer->finish();
        talker.gave_up = ending == 1 || ending == 2;
        if (ending == 1) talker.peer->close();
        if (ending == 2) talker.peer->reset();
    });
}

http::WebSocketOptions random_websocket_options(Random& random) {
    http::WebSocketOptions options;
    options.slow_receiver = static_cast<http::SlowReceiver>(random.below(3));
    options.queue_bytes_max = 1 + random.below(200'000);
    options.message_bytes_max = 100 + random.below(100'000);
    options.ping_interval = std::chrono::milliseconds(100 + random.below(60'000));
    options.pong_timeout = std::chrono::milliseconds(100 + random.below(20'000));
    options.fragments = random.chance(1, 8);
    if (random.chance(1, 3)) {
        options.deflate = {.server_context_takeover = true, .client_context_takeover = true};
        options.context_sockets_max = random.below(3);
    }
    return options;
}

void expect_lawful_frames(const FakePeer& peer) {
    const std::size_t head = peer.heard().find("\r\n\r\n");
    if (!peer.heard().starts_with("HTTP/1.1 101") || head == std::string::npos) return;
    ByteView bytes = ByteView(peer.heard()).substr(head + 4);
    WebSocketReader reader({.masked = false, .compression = true});
    while (true) {
        const WebSocketReader::Step step = reader.next(bytes);
        ASSERT_NE(step.kind, WebSocketReader::Step::Kind::fault) << to_string(step.fault);
        if (step.kind == WebSocketReader::Step::Kind::need_more) return;
        bytes.remove_prefix(step.used);
    }
}

std::size_t count(const std::string& text, const std::string& word) {
    std::size_t found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
}

void websockets(FakeWorld& world, Random& random) {
    std::vector<WebSocketTalker> talkers(1 + random.below(5));
    std::string told;
    {
        // A stage ends its connections before its service; topics lie between the two.
        auto stage = std::make_unique<WebSocketStage>(world, random_websocket_options(random));
        Topics topics(world.loop(), std::make_shared<task::TopicHub>());
        stage->service().attach(topics);
        net::TcpServer& server = stage->http().server();
        server.listen(world.listen());
        stage->when_opened = [&](http::WebSocketConnection& socket) { socket.join(topics, "all"); };
        stage->when_told = [&, publishes = random.chance(1, 2)](http::WebSocketConnection& from) {
            if (publishes) {
                from.publish(topics, "all", http::WebSocketKind::binary,
                             std::string(random.below(3'000), 'p'));
            }
        };
        for (WebSocketTalker& talker : talkers) {
            talker.bytes = random_talk(random);
            talker.peer = world.connect_fake();
            plan_talk(world, random, talker);
        }
        const Instant stop = world.clock().now() + std::chrono::milliseconds(random.below(120'000));
        world.run_until([&] {
            return world.clock().now() >= stop ||
                   std::ranges::all_of(talkers, [](const WebSocketTalker& t) { return t.done(); });
        });
        bool drained = false;
        server.drain(world.loop().now() + 10s, [&] { drained = true; });
        EXPECT_TRUE(world.run_until([&] { return drained; }));
        EXPECT_TRUE(stage->sockets().empty());
        EXPECT_EQ(topics.size(), 0U);
        world.settle();
        told = stage->told();
        EXPECT_EQ(stage->service().counters().opened, stage->service().counters().closed);
    }
    EXPECT_EQ(count(told, "open"), count(told, "closed("));
    for (const WebSocketTalker& talker : talkers) expect_lawful_frames(*talker.peer);
}

TEST(WebSocketSeeds, EchoAndTopics) {
    run_seeds(websockets, {.one_in = 5});
}

}  // namespace
}  // namespace tiderace::testing
