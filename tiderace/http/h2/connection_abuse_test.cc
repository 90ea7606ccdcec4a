// Every known abuse of HTTP/2 by name: it ends with ENHANCE_YOUR_CALM, after a bounded number of
// handlers run, with bounded memory, and with fewer bytes sent than received. Time stands still, so
// the budget is what a peer can spend at once.
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using testing::H2Stage;
using wire::H2Error;
using wire::H2FrameType;
using wire::H2SettingId;

class H2Abuse : public testing::H2Test {
  protected:
    // One round after the other until the server has had enough. Returns the rounds it took.
    int flood(H2Client& client, int rounds_max, const std::function<void()>& round) {
        for (int i = 0; i < rounds_max; ++i) {
            client.hold();
            round();
            client.say_all();
            world_->settle();
            blocks_most_ = std::max(blocks_most_, world_->loop().blocks().taken());
            if (client.goaway()) return i + 1;
        }
        return rounds_max;
    }
    // How often a handler ran.
    std::size_t handled() { return stage_->stage().served().size(); }
    void expect_calm(H2Client& client) {
        EXPECT_EQ(client.goaway(), H2Error::enhance_your_calm);
        EXPECT_EQ(stage_->counters().calmed, 1U);
        EXPECT_LE(blocks_most_ * core::BlockPool::block_bytes, 512_KiB);
        EXPECT_TRUE(run_until([&] { return peer_->over(); }));
        peer_->close();
        EXPECT_TRUE(run_until([&] { return stage_->server().size() == 0; }));
        // Others are served as before.
        H2Client& other = connect();
        EXPECT_TRUE(ended(other.get("/hello")));
    }

    std::size_t blocks_most_ = 0;
};

// Thousands of frames each: on the fake network and on one engine.
INSTANTIATE_TEST_SUITE_P(Worlds, H2Abuse, ::testing::Values("fake", "epoll"),
                         [](const auto& world) { return world.param; });

// As an operator's error pages do.
class LargePages final : public ResponseFilter {
  public:
    void filter(Exchange&, Response& response) override {
        static const std::string page(30'000, 'x');
        if (response.status() >= 400) response.set_body(ByteView(page));
    }
};

TEST_P(H2Abuse, RefusedRequestsWhosePageIsLarge) {
    static LargePages pages;
    stage_->stage().site().add(pages);
    H2Client& client = connect({{H2SettingId::initial_window_size, 1 << 20}});
    const int rounds = flood(client, 1'000, [&] {
        for (int i = 0; i < 5; ++i) client.get("/a%00b");
        client.window_update(0, 150'000);
    });
    EXPECT_LT(rounds, 200);
    EXPECT_EQ(handled(), 0U);
    expect_calm(client);
}

TEST_P(H2Abuse, RapidReset) {  // CVE-2023-44487
    std::vector<core::Ref<Exchange>> kept;
    stage_->on("/work", [&](Exchange& exchange) {
        kept.push_back(exchange.defer());
        exchange.on_abandoned([&] { kept.clear(); });
    });
    H2Client& client = connect();
    flood(client, 1'000, [&] {
        for (int i = 0; i < 10; ++i) client.reset(client.get("/work"));
    });
    EXPECT_LE(handled(), 500U);
    expect_calm(client);
}

TEST_P(H2Abuse, RapidResetOfLargeAnswers) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 1}});
    flood(client, 1'000, [&] {
        for (int i = 0; i < 10; ++i) client.reset(client.get("/large"));
    });
    EXPECT_LE(handled(), 500U);
    expect_calm(client);
}

TEST_P(H2Abuse, MadeYouReset) {  // CVE-2025-8671: the server is made to send RST_STREAM itself
    std::vector<core::Ref<Exchange>> kept;
    stage_->on("/work", [&](Exchange& exchange) {
        kept.push_back(exchange.defer());
        exchange.on_abandoned([&] { kept.clear(); });
    });
    H2Client& client = connect();
    flood(client, 1'000, [&] {
        for (int i = 0; i < 10; ++i) {
            client.frame(H2FrameType::window_update, 0, client.get("/work"), std::string(4, '\0'));
        }
        for (int i = 0; i < 10; ++i) client.window_update(client.get("/work"), 0x7fff'ffff);
        for (int i = 0; i < 10; ++i) client.data(client.get("/work"), "behind the end", false);
    });
    EXPECT_LE(handled(), 500U);
    expect_calm(client);
}

TEST_P(H2Abuse, ContinuationFlood) {  // CVE-2024-27316: a field block without an end
    H2Client& client = connect();
    client.frame(H2FrameType::headers, 0, 1, H2Client::block({{":method", "GET"}}));
    const int rounds = flood(client, 1'000, [&] {
        for (int i = 0; i < 10; ++i) client.frame(H2FrameType::continuation, 0, 1, "");
    });
    EXPECT_LE(rounds, 10);
    EXPECT_EQ(handled(), 0U);
    expect_calm(client);
}

TEST_P(H2Abuse, ContinuationsOfMuch) {
    H2Client& client = connect();
    client.frame(H2FrameType::headers, 0, 1, "");
    const std::string field = H2Client::block({{"x-much", std::string(16'000, 'x')}});
    const int rounds =
        flood(client, 100, [&] { client.frame(H2FrameType::continuation, 0, 1, field); });
    EXPECT_LE(rounds, 10);
    EXPECT_EQ(handled(), 0U);
    expect_calm(client);
}

// Frames that ask for an answer, or say nothing; each alone empties the purse.
struct Flood {
    const char* name;
    H2FrameType type;
    std::uint8_t flags;
    bool on_a_stream;
    std::string payload;
    int frames_max;
};

const std::vector<Flood> floods{
    {"ping", H2FrameType::ping, 0, false, "12345678", 600},
    {"settings", H2FrameType::settings, 0, false, "", 600},
    {"settings that move every window", H2FrameType::settings, 0, false,
     std::string("\0\4\0\0\0\1\0\4\0\0\0\2", 12), 600},
    {"priority", H2FrameType::priority, 0, true, std::string("\0\0\0\0\1", 5), 2'100},
    {"priority updates", H2FrameType::priority_update, 0, false, std::string("\0\0\0\1u=1", 7),
     2'100},
    {"empty data", H2FrameType::data, 0, true, "", 1'100},
    {"data of nothing but padding", H2FrameType::data, 8, true, std::string("\3\0\0\0", 4), 1'100},
    {"window updates of one", H2FrameType::window_update, 0, true, std::string("\0\0\0\1", 4),
     10'100},
    {"window updates of the connection", H2FrameType::window_update, 0, false,
     std::string("\0\0\0\1", 4), 10'100},
    {"unknown frames", static_cast<H2FrameType>(0x77), 0, false, "", 1'100},
    {"ping acks", H2FrameType::ping, 1, false, "12345678", 2'100},
    {"settings acks", H2FrameType::settings, 1, false, "", 2'100},
    {"goaway", H2FrameType::goaway, 0, false, std::string(8, '\0'), 600},
};

TEST_P(H2Abuse, FloodsOfFrames) {
    for (const Flood& each : floods) {
        SCOPED_TRACE(each.name);
        start(H2Stage::plain());
        blocks_most_ = 0;
        H2Client& client = connect();
        const auto stream = client.request("POST", "/kept", {}, false);
        const int rounds = flood(client, 2'000, [&] {
            for (int i = 0; i < 50; ++i) {
                client.frame(each.type, each.flags, each.on_a_stream ? stream : 0, each.payload);
            }
        });
        EXPECT_LE(rounds * 50, each.frames_max + 100);
        EXPECT_LE(peer_->heard().size(), 100'000U);
        kept_ = {};
        expect_calm(client);
    }
}

TEST_P(H2Abuse, OneByteWindows) {
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    const auto stream = client.get("/large");
    const int rounds = flood(client, 2'000, [&] {
        for (int i = 0; i < 50; ++i) client.window_update(stream, 1);
    });
    EXPECT_LE(rounds * 50, 10'500);  // for each update one byte of an answer
    EXPECT_LE(client.answer(stream).body.size(), 10'500U);
    expect_calm(client);
}

TEST_P(H2Abuse, ZeroWindowHold) {  // many answers, and no window for any of them
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    std::vector<std::uint32_t> streams;
    for (int i = 0; i < 128; ++i) streams.push_back(client.get("/large"));
    world_->settle();
    EXPECT_EQ(handled(), 128U);
    EXPECT_LE(world_->loop().blocks().taken(), 4U);  // the bodies are not copied
    world_->advance(31s);
    for (const auto stream : streams) {
        ASSERT_TRUE(reset(stream));
        EXPECT_EQ(client.answer(stream).reset, H2Error::cancel);
    }
    EXPECT_EQ(stage_->counters().timed_out, 128U);
}

TEST_P(H2Abuse, HpackBomb) {  // one large entry, named again and again by a byte each
    H2Client& client = connect();
    const std::string large(3'900, 'x');
    std::string block = H2Client::block(
        {{":method", "GET"}, {":scheme", "http"}, {":path", "/hello"}, {":authority", "a"}});
    std::string insert("\x40\1a\x7f\xbd\x1d", 6);  // a: 3,900 times x, into the table
    insert += large;
    const std::string references(1'000, '\xbe');  // 4 MB of fields
    client.frame(H2FrameType::headers, 5, 1, block + insert);
    ASSERT_TRUE(ended(1));
    const auto allocated = world_->loop().blocks().taken();
    std::uint32_t stream = 3;
    for (; stream < 23; stream += 2) {
        client.frame(H2FrameType::headers, 5, stream, block + references);
        ASSERT_TRUE(ended(stream));
        EXPECT_EQ(client.answer(stream).status, 431);
    }
    EXPECT_LE(world_->loop().blocks().taken(), allocated + 1);
    flood(client, 1'000, [&] {
        client.frame(H2FrameType::headers, 5, stream, block + references);
        stream += 2;
    });
    EXPECT_EQ(handled(), 1U);
    EXPECT_LE(stream, 1'100U);  // each costs more than its answer pays back
    expect_calm(client);
}

// Each within the limit of a head, and all of them kept until a window opens.
TEST_P(H2Abuse, HpackBombsThatAreHeld) {
    H2Options options = H2Stage::plain();
    options.heads_bytes_max = 100'000;
    start(std::move(options));
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    const std::string large(3'900, 'x');
    const std::string block = H2Client::block(
        {{":method", "GET"}, {":scheme", "http"}, {":path", "/large"}, {":authority", "a"}});
    std::string insert("\x40\1a\x7f\xbd\x1d", 6);  // a: 3,900 times x, into the table
    insert += large;
    const std::string references(7, '\xbe');  // 27 KB of fields
    client.frame(H2FrameType::headers, 5, 1, block + insert);
    for (std::uint32_t stream = 3; stream < 23; stream += 2) {
        client.frame(H2FrameType::headers, 5, stream, block + references);
    }
    world_->settle();
    EXPECT_EQ(handled(), 5U);
    EXPECT_EQ(client.answer(9).status, 200);
    for (std::uint32_t stream = 11; stream < 23; stream += 2) {
        EXPECT_EQ(client.answer(stream).reset, H2Error::refused_stream) << stream;
    }
    for (std::uint32_t stream = 1; stream < 11; stream += 2) client.reset(stream);
    client.frame(H2FrameType::headers, 5, 23, block + references);
    world_->settle();
    EXPECT_EQ(client.answer(23).status, 200) << "there is room again";
}

TEST_P(H2Abuse, CookieCrumbs) {
    H2Client& client = connect();
    std::string block = H2Client::block(
        {{":method", "GET"}, {":scheme", "http"}, {":path", "/hello"}, {":authority", "a"}});
    for (int i = 0; i < 1'000; ++i) block += std::string("\x0f\x11\1a", 4);  // cookie: a
    std::uint32_t stream = 1;
    client.frame(H2FrameType::headers, 5, stream, block);
    ASSERT_TRUE(ended(stream));
    EXPECT_EQ(client.answer(stream).status, 431);
    flood(client, 1'000, [&] { client.frame(H2FrameType::headers, 5, stream += 2, block); });
    EXPECT_EQ(handled(), 0U);
    EXPECT_LE(stream, 1'100U);
    expect_calm(client);
}

TEST_P(H2Abuse, TableThrash) {  // every field pushes another out of the table, and no use of it
    H2Client& client = connect();
    std::string block = H2Client::block(
        {{":method", "GET"}, {":scheme", "http"}, {":path", "/a%00b"}, {":authority", "a"}});
    for (int i = 0; i < 90; ++i) block += std::string("\x40\1a\1b", 5);
    std::uint32_t stream = 1;
    flood(client, 2'000, [&] {
        client.frame(H2FrameType::headers, 5, stream, block);
        stream += 2;
    });
    EXPECT_EQ(handled(), 0U);
    EXPECT_LE(stream, 400U);
    expect_calm(client);
}

// So many fields, each of which enters the table.
std::string entries(int count) {
    std::string block;
    for (int i = 0; i < count; ++i) block += std::string("\x40\1a\1b", 5);
    return block;
}

TEST_P(H2Abuse, TableThrashByTrailers) {
    H2Client& client = connect();
    const std::string block = H2Client::block(
        {{":method", "POST"}, {":scheme", "http"}, {":path", "/upload"}, {":authority", "a"}});
    std::uint32_t stream = 1;
    flood(client, 500, [&] {
        for (int i = 0; i < 4; ++i, stream += 2) {
            client.frame(H2FrameType::headers, 4, stream, block);
            client.frame(H2FrameType::headers, 5, stream, entries(60));
        }
    });
    EXPECT_LE(handled(), 500U);
    expect_calm(client);
}

TEST_P(H2Abuse, RequestsAboveTheMaximum) {
    H2Options options = H2Stage::plain();
    options.streams_max = 1;
    const std::string block = H2Client::block(
        {{":method", "GET"}, {":scheme", "http"}, {":path", "/kept"}, {":authority", "a"}});
    for (const int insertions : {0, 90}) {
        SCOPED_TRACE(insertions);
        start(options);
        H2Client& client = connect();
        std::uint32_t stream = 1;
        flood(client, 500, [&] {
            for (int i = 0; i < 4; ++i, stream += 2) {
                client.frame(H2FrameType::headers, 5, stream, block + entries(insertions));
            }
        });
        EXPECT_EQ(handled(), 1U);
        // 30 units of 10,000 each, and one more for an entry of the table.
        EXPECT_LE(stream / 2, 10'000U / (30 + static_cast<unsigned>(insertions)) + 5);
        kept_ = {};
        expect_calm(client);
    }
}

// --- what is no abuse ------------------------------------------------------------------------

// More frames than the budget alone would pay for; each brings as many bytes as it costs.
constexpr int frames_beyond_the_budget = 11'000;

TEST_P(H2Abuse, AnUploadInSmallFramesPaysForItself) {
    stage_->on("/sink", [](Exchange& exchange) {
        testing::receive_whole(
            exchange, 10'000'000,
            [](Exchange& each, const testing::ReceivedBody&) { each.respond_status(204); });
    });
    H2Client& client = connect();
    const auto stream = client.request("POST", "/sink", {}, false);
    flood(client, frames_beyond_the_budget / 100, [&] {
        for (int i = 0; i < 100; ++i) client.data(stream, std::string(64, 'x'), false);
    });
    client.data(stream, "", true);
    EXPECT_TRUE(ended(stream));
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Abuse, ADownloadThroughSmallWindowsPaysForItself) {
    const std::string body(64 * frames_beyond_the_budget, 'x');
    stage_->on("/body", [&](Exchange& exchange) {
        Response response;
        response.set_body(ByteView(body));
        exchange.respond(response);
    });
    H2Client& client = connect({{H2SettingId::initial_window_size, 0}});
    client.window_update(0, 1'000'000);
    const auto stream = client.get("/body");
    flood(client, frames_beyond_the_budget / 100, [&] {
        for (int i = 0; i < 100; ++i) client.window_update(stream, 64);
    });
    EXPECT_TRUE(ended(stream));
    EXPECT_FALSE(client.goaway());
}

TEST_P(H2Abuse, APeerThatDoesNotReadGetsNoMoreWork) {
    stage_->on("/medium", [](Exchange& exchange) {
        Response response;
        response.set_body(std::string(10'000, 'm'));
        exchange.respond(response);
    });
    H2Client& client = connect({{H2SettingId::initial_window_size, 0x7fff'ffff}});
    client.window_update(0, 0x7000'0000);
    world_->settle();
    peer_->set_listening(false);
    for (int i = 0; i < 5'000; ++i) client.get("/medium");
    world_->settle();
    // The room of both ends' sockets, one receive, and the queue's marks.
    EXPECT_LE(world_->loop().blocks().taken() * core::BlockPool::block_bytes, 4_MiB);
    peer_->set_listening(true);
    ASSERT_TRUE(ended(9'999));
    EXPECT_EQ(client.answer(9'999).body.size(), 10'000U);
}

}  // namespace
}  // namespace tiderace::http
