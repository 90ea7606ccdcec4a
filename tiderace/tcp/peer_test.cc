#include "tiderace/tcp/peer.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "tiderace/tcp/tcp_fixture.h"

namespace tiderace::tcp {
namespace {

class PeerTest : public ::testing::Test, protected ServedWorld {
  protected:
    PeerTest() : ServedWorld("fake") {}
};

TEST_F(PeerTest, ASilentPeerIsClosedOrReported) {
    Server closes(":0");
    closes.idle_timeout(5s);
    serve(closes);
    const auto peer = world->connect();
    world->settle();
    world->advance(4s);
    peer->say("x");
    world->settle();
    world->advance(4s);
    EXPECT_FALSE(peer->over());
    world->advance(2s);
    EXPECT_TRUE(peer->over());
    end_all();

    int ticks = 0;
    Server ticking(":0");
    ticking.on_idle(5s, [&](Peer& peer) {
        peer.write("tick ");
        if (++ticks == 3) peer.close();
    });
    serve(ticking);
    const auto other = world->connect();
    world->settle();
    world->advance(11s);
    EXPECT_EQ(other->heard(), "tick tick ");
    world->advance(5s);
    EXPECT_TRUE(other->ended());
    end_all();
}

TEST_F(PeerTest, TheIdleTimeMayBeNever) {
    Server server(":0");
    server.idle_timeout(Duration::max());
    serve(server);
    const auto peer = world->connect();
    world->advance(1h);
    peer->say("x");
    world->advance(1h);
    EXPECT_FALSE(peer->over());
    peer->finish();
    world->settle();
    end_all();
}

TEST_F(PeerTest, ADownloadLongerThanTheIdleTimeIsNotCut) {
    const std::string much(3'000'000, 'x');
    Server slow(":0");
    slow.idle_timeout(5s).on_accept([&](Peer& peer) { peer.write(much); });
    serve(slow);
    const auto peer = world->connect();
    for (int i = 0; i < 10; ++i) {
        peer->set_listening(false);
        world->settle();
        world->advance(4s);
        peer->set_listening(true);
        world->advance(1ms);
    }
    world->settle();
    EXPECT_EQ(peer->heard().size(), much.size());
    end_all();
}

TEST_F(PeerTest, TheIdleTimeDoesNotRunWhileWeDoNotRead) {
    Peer* kept = nullptr;
    std::string got;
    Server busy(":0");
    busy.idle_timeout(5s).on_data([&](Peer& peer, ByteView in) {
        got += in;
        kept = &peer;
        peer.set_reading(false);  // a proxy does so while the other side takes nothing
    });
    serve(busy);
    const auto peer = world->connect();
    peer->say("one ");
    world->settle();
    peer->say("two");
    world->advance(1min);
    ASSERT_FALSE(peer->over());
    EXPECT_EQ(got, "one ");
    kept->set_reading(true);
    world->settle();
    EXPECT_EQ(got, "one two");
    kept->set_reading(true);
    world->advance(4s);
    EXPECT_FALSE(peer->over()) << "it begins anew when we read again";
    world->advance(2s);
    EXPECT_TRUE(peer->over());
    end_all();
}

TEST_F(PeerTest, AFrameThatComesTooSlowlyClosesItsPeer) {
    Peer* kept = nullptr;
    bool reads = true;
    net::CloseReason reason{};
    std::size_t lines = 0;
    Server server(":0");
    server
        .on_data([&](Peer& peer, ByteView in) -> std::size_t {
            kept = &peer;
            const auto end = in.find('\n');
            if (end == ByteView::npos) {
                peer.set_reading(reads);
                return 0;
            }
            ++lines;
            return end + 1;
        })
        .on_close([&](Peer&, net::CloseReason why) { reason = why; });
    serve(server, {.stream = {.receive_bytes_per_second_min = 10}});
    const auto peer = world->connect();
    const auto say_each = [&](const std::string& piece, int times) {
        for (int i = 0; i < times; ++i) {
            peer->say(piece);
            world->settle();
            world->advance(1s);
        }
    };
    say_each("fast enough", 90);
    peer->say("\n");
    world->settle();
    world->advance(2h);
    ASSERT_FALSE(peer->over()) << "nothing has begun";
    reads = false;
    peer->say("begun while we work");
    world->settle();
    world->advance(1h);
    ASSERT_FALSE(peer->over()) << "the peer waits for us";
    reads = true;
    kept->set_reading(true);
    world->settle();
    world->advance(29s);
    ASSERT_FALSE(peer->over());
    peer->say("\nand on");
    world->settle();
    EXPECT_EQ(lines, 2U);
    say_each("s", 29);
    ASSERT_FALSE(peer->over()) << "of each frame anew";
    say_each("s", 10);
    EXPECT_TRUE(peer->over());
    EXPECT_EQ(reason, net::CloseReason::deadline_expired);
    end_all();
}

// A callback that touches its peer at each byte buys no time for a frame.
TEST_F(PeerTest, TheIdleTimeAndTheRateOfAFrameRunSideBySide) {
    int idle = 0;
    net::CloseReason reason{};
    Server server(":0");
    server.on_data([](Peer& peer, ByteView) { return peer.touch(), std::size_t{0}; })
        .on_idle(20s, [&](Peer& peer) { ++idle, peer.touch(); })
        .on_close([&](Peer&, net::CloseReason why) { reason = why; });
    serve(server, {.stream = {.receive_bytes_per_second_min = 10}});
    const auto peer = world->connect();
    peer->say("x");
    world->settle();
    world->advance(25s);
    EXPECT_EQ(idle, 1);
    ASSERT_FALSE(peer->over());
    world->advance(6s);
    EXPECT_TRUE(peer->over());
    EXPECT_EQ(reason, net::CloseReason::deadline_expired);
    end_all();
}

TEST_F(PeerTest, EachPeerHasAStateAndMayBeTouchedClosedAndAborted) {
    Server counting(":0");
    counting.idle_timeout(5s).on_data([](Peer& peer, ByteView in) {
        int& count = peer.state<int>();
        ++count;
        if (in == "touch") return peer.set_idle_timeout(1h);
        if (in == "close") {
            peer.write(std::to_string(count));
            peer.close();
            peer.write("lost");
        }
        if (in == "abort") peer.abort();
    });
    serve(counting);
    const auto one = world->connect(), two = world->connect(), three = world->connect();
    one->say("a");
    two->say("touch");
    three->say("abort");
    world->settle();
    one->say("close");
    world->settle();
    EXPECT_EQ(one->heard(), "2");
    EXPECT_TRUE(one->ended());
    EXPECT_TRUE(three->over());
    world->advance(30min);
    EXPECT_FALSE(two->over());
    end_all();
}

TEST_F(PeerTest, OneThatIsTouchedIsNotSilent) {
    Peer* kept = nullptr;
    Server server(":0");
    server.idle_timeout(5s).on_accept([&](Peer& peer) { kept = &peer; });
    serve(server);
    const auto peer = world->connect();
    world->settle();
    ASSERT_NE(kept, nullptr);
    for (int i = 0; i < 3; ++i) {
        world->advance(4s);
        ASSERT_FALSE(peer->over()) << i;
        kept->touch();
    }
    world->advance(4s);
    EXPECT_FALSE(peer->over());
    world->advance(2s);
    EXPECT_TRUE(peer->over());
    end_all();
}

// The calls that set options of a socket, of one connection.
std::uint64_t options_set(const ServeOptions& options) {
    Server server(":0");
    ServedWorld one("fake");
    one.serve(server, options);
    const auto before = one.world->kernel().calls(testing::Call::set_option);
    const auto peer = one.world->connect();
    one.world->settle();
    return one.world->kernel().calls(testing::Call::set_option) - before;
}

TEST_F(PeerTest, OptionsReachItsSocket) {
    EXPECT_EQ(options_set({.socket = {.send_buffer_bytes = 4'096}}), options_set({}) + 1);
    bool tuned = false;
    Server server(":0");
    server.on_data([&](Peer& peer, ByteView) { tuned = peer.tune({.send_buffer_bytes = 4'096}); });
    serve(server);
    const auto peer = world->connect();
    world->settle();
    const auto before = world->kernel().calls(testing::Call::set_option);
    peer->say("x");
    world->settle();
    EXPECT_TRUE(tuned);
    EXPECT_EQ(world->kernel().calls(testing::Call::set_option), before + 1);
    world->kernel().fail_all(testing::Call::set_option, EINVAL);
    peer->say("x");
    world->settle();
    EXPECT_FALSE(tuned) << "the socket refuses";
    end_all();
}

// A requested notice comes, however little waits.
TEST_F(PeerTest, DrainedComesWhenItIsWanted) {
    int drained = 0;
    Server server(":0");
    server
        .on_data([](Peer& peer, ByteView in) {
            peer.write("a few bytes");
            EXPECT_EQ(peer.unsent_bytes(), 11U);
            if (in == "tell me") peer.want_drained();
        })
        .on_drained([&](Peer& peer) {
            ++drained;
            EXPECT_EQ(peer.unsent_bytes(), 0U);
        });
    serve(server);
    const auto peer = world->connect();
    peer->say("no matter");
    world->settle();
    EXPECT_EQ(drained, 0);
    peer->say("tell me");
    world->settle();
    EXPECT_EQ(drained, 1);
    EXPECT_EQ(peer->heard(), "a few bytesa few bytes");
    end_all();
}

TEST_F(PeerTest, SendsAFile) {
    const std::string path = ::testing::TempDir() + "tcp_server_file";
    std::ofstream(path) << "of a file";
    std::string fault;
    Server files(":0");
    files.on_accept([&](Peer& peer) {
        peer.write("the end ");
        EXPECT_EQ(peer.send_file(path).value(), 9U);
        fault = peer.send_file(path + ".not").error().operation();
        peer.close();
    });
    serve(files);
    const auto peer = world->connect();
    world->settle();
    std::remove(path.c_str());
    EXPECT_EQ(peer->heard(), "the end of a file");
    EXPECT_EQ(fault, "open");
    end_all();
}

}  // namespace
}  // namespace tiderace::tcp
