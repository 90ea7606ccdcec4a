#include "tiderace/tcp/server.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tiderace/tcp/tcp_fixture.h"

namespace tiderace::tcp {
namespace {

class EveryTcpServer : public EveryTcp {};
INSTANTIATE_TEST_SUITE_P(Engines, EveryTcpServer, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(EveryTcpServer, CallsBackThroughoutALife) {
    std::string told;
    Server server(":0");
    server
        .on_accept([&](Peer& peer) {
            told += "accept ";
            EXPECT_TRUE(peer.tune({.no_delay = true}));
        })
        .on_data([&](Peer& peer, ByteView in) {
            peer.write(in);
            return in.size();
        })
        .on_close([&](Peer&, net::CloseReason reason) { told += net::to_string(reason); });
    serve(server);
    const auto peer = world->connect();
    peer->say("hello");
    expect_soon([&] { return peer->heard() == "hello"; });
    EXPECT_EQ(told, "accept ");
    peer->finish();
    expect_soon([&] { return this->server->size() == 0; });
    EXPECT_EQ(told, "accept " + std::string(net::to_string(net::CloseReason::peer_finished)));
    end_all();
}

// What the header promises of the order.
TEST_P(EveryTcpServer, NoCallbackIsInsideAnotherAndOnCloseIsTheLast) {
    std::string told;
    Server server(":0");
    server.on_accept([&](Peer& peer) { peer.write("hello"); })
        .on_data([&](Peer& peer, ByteView in) {
            told += "(";
            EXPECT_FALSE(in.empty());
            peer.state<std::string>() += in;
            peer.write(in);
            peer.want_drained();
            if (in == "end") peer.abort();
            peer.write("too late");
            told += ")";
            return in.size() + 7;  // more than there is counts as all
        })
        .on_drained([&](Peer&) { told += "d"; })
        .on_close([&](Peer& peer, net::CloseReason) {
            told += "close:" + peer.state<std::string>();
            EXPECT_EQ(peer.write("gone"), net::Backlog::low);
        });
    serve(server);
    const auto peer = world->connect();
    expect_soon([&] { return peer->heard() == "hello"; });
    peer->say("end");
    expect_soon([&] { return this->server->size() == 0; });
    EXPECT_EQ(told, "()close:end");
    end_all();
}

TEST_P(EveryTcpServer, UnusedBytesComeAgain) {
    std::vector<std::string> frames;
    Server server(":0");
    server.on_data([&](Peer& peer, ByteView in) -> std::size_t {
        if (in.size() < 4) return 0;
        frames.emplace_back(in.substr(0, 4));
        if (in.size() > 4) peer.connection().deliver_unread_later();
        return 4;
    });
    serve(server);
    const auto peer = world->connect();
    peer->say("on");
    world->settle();
    peer->say("e.two.");
    expect_soon([&] { return frames.size() == 2; });
    EXPECT_EQ(frames, (std::vector<std::string>{"one.", "two."}));
    end_all();
}

TEST_P(EveryTcpServer, DrainedComesWhenTheQueueIsShortAgain) {
    const std::string piece(1'000'000, 'x');
    int pieces = 0;
    Server server(":0");
    server.on_accept([&](Peer& peer) { peer.write(piece); }).on_drained([&](Peer& peer) {
        if (++pieces == 5) return peer.close();
        peer.write(piece);
    });
    serve(server);
    const auto peer = world->connect();
    expect_soon([&] { return peer->ended(); });
    EXPECT_EQ(peer->heard().size(), 5 * piece.size());
    end_all();
}

// ---- under virtual time -------------------------------------------------------------------------

class TcpServerTest : public ::testing::Test, protected ServedWorld {
  protected:
    TcpServerTest() : ServedWorld("fake") {}
};

TEST_F(TcpServerTest, ACallbackThatThrowsClosesItsConnectionAlone) {
    std::vector<std::string> errors;
    Server with(":0");
    with.on_data([](Peer& peer, ByteView in) {
            if (in == "throw") throw std::runtime_error("on purpose");
            peer.write(in);
        })
        .on_error([&](Peer&, std::exception_ptr failure) {
            try {
                std::rethrow_exception(failure);
            } catch (const std::exception& error) {
                errors.emplace_back(error.what());
            }
            throw std::runtime_error("again");
        });
    serve(with);
    const auto good = world->connect(), bad = world->connect();
    good->say("one");
    bad->say("throw");
    world->settle();
    EXPECT_TRUE(bad->over());
    good->say("two");
    world->settle();
    EXPECT_EQ(good->heard(), "onetwo");
    EXPECT_EQ(errors, std::vector<std::string>{"on purpose"});
    end_all();
}

TEST_F(TcpServerTest, DrainingAnswersWhatHasArrived) {
    Server echoes(":0");
    echoes.on_data([](Peer& peer, ByteView in) { peer.write(in); });
    serve(echoes);
    const auto peer = world->connect();
    world->settle();
    peer->say("in time");
    drain();
    world->settle();
    EXPECT_EQ(peer->heard(), "in time");
    EXPECT_TRUE(peer->ended());
    EXPECT_TRUE(drained);
    end_all();
}

}  // namespace
}  // namespace tiderace::tcp
