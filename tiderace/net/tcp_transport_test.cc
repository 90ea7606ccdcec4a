#include "tiderace/net/tcp_transport.h"

#include <gtest/gtest.h>

#include "tiderace/testing/transport_peer.h"
#include "tiderace/testing/world.h"

namespace tiderace::net {
namespace {

// What a Connection does with it is in connection_test.cc; here two ends of a socket talk bare.
class EveryTcpTransport : public ::testing::TestWithParam<std::string> {
  protected:
    EveryTcpTransport() : listener_(world_->listen()), client_(world_->connect()) {
        int fd = -1;
        EXPECT_TRUE(world_->run_until([&] {
            fd = world_->kernel().accept(listener_.get(), nullptr, nullptr);
            return fd >= 0;
        }));
        auto transport = std::make_unique<TcpTransport>(world_->loop(), fd);
        EXPECT_TRUE(transport->attached());
        server_ = std::make_unique<testing::TransportPeer>(world_->loop(), std::move(transport));
    }

    std::unique_ptr<testing::World> world_ = testing::make_world(GetParam());
    core::Descriptor listener_;
    std::unique_ptr<testing::Peer> client_;
    std::unique_ptr<testing::Peer> server_;
};

INSTANTIATE_TEST_SUITE_P(Engines, EveryTcpTransport, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(EveryTcpTransport, CarriesBytesBothWays) {
    server_->say("from the server");
    client_->say("from the client");
    EXPECT_TRUE(world_->run_until([&] {
        return client_->heard() == "from the server" && server_->heard() == "from the client";
    }));
}

TEST_P(EveryTcpTransport, EndsOneDirectionAndThenTheOther) {
    server_->say("last");
    server_->finish();
    EXPECT_TRUE(world_->run_until([&] { return client_->ended(); }));
    client_->say("not yet");
    client_->finish();
    EXPECT_TRUE(world_->run_until([&] { return server_->ended(); }));
    EXPECT_EQ(client_->heard(), "last");
    EXPECT_EQ(server_->heard(), "not yet");
}

TEST_P(EveryTcpTransport, ResetsOnRequest) {
    server_->reset();
    EXPECT_TRUE(world_->run_until([&] { return client_->was_reset(); }));
}

TEST_P(EveryTcpTransport, TellsOfAReset) {
    client_->reset();
    EXPECT_TRUE(world_->run_until([&] { return server_->was_reset(); }));
}

TEST_P(EveryTcpTransport, CarriesMoreThanTheBuffersHold) {
    const std::string much(8 << 20, 'x');
    client_->set_listening(false);
    server_->say(much);
    world_->settle();
    client_->set_listening(true);
    EXPECT_TRUE(world_->run_until([&] { return client_->heard().size() == much.size(); }));
}

}  // namespace
}  // namespace tiderace::net
