#include "tiderace/tcp/connect.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tiderace/task/lookup.h"
#include "tiderace/tcp/tcp_fixture.h"

namespace tiderace::tcp {
namespace {

using task::Task;

class EveryConnect : public EveryTcp {};
INSTANTIATE_TEST_SUITE_P(Engines, EveryConnect, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(EveryConnect, ConnectsToAnother) {
    serve(echo);
    std::string answer;
    runner.spawn([](std::string to, std::string& answer) -> Task<> {
        auto stream = co_await connect(to);
        EXPECT_TRUE(stream.has_value());
        EXPECT_EQ(stream->peer().to_string(), to);
        co_await stream->write("over and back");
        answer = *co_await stream->read_exactly(13);
    }(world->listening_at().to_string(), answer));
    expect_soon([&] { return answer == "over and back"; });
    expect_soon([&] { return server->size() == 0 && tasks->size() == 0; });
    end_all();
}

TEST_P(EveryConnect, TheConnectionEndsWithTheStreamAndTheRunnerWithBoth) {
    std::optional<task::Runner> other{std::in_place, world->loop()};
    serve(echo);
    other->spawn([](std::string to) -> Task<> {
        auto kept = co_await connect(to);
        {
            auto closed = co_await connect(to);
        }
        co_await task::sleep(24h);
    }(world->listening_at().to_string()));
    expect_soon([&] { return server->counters().opened == 2 && server->size() == 1; });
    other.reset();
    expect_soon([&] { return server->size() == 0; });
    end_all();
}

// Accepts all bytes and never reports a verified peer.
class MuteSecurity final : public ClientSecurity, private ClientLayer {
  public:
    Result<std::shared_ptr<ClientLayer>> layer(task::Runner&) const override {
        return std::shared_ptr<ClientLayer>(self_, static_cast<ClientLayer*>(self_.get()));
    }

  private:
    std::unique_ptr<net::Transport> wrap(std::unique_ptr<net::Transport> below,
                                         const std::string&) override {
        return below;
    }
    std::shared_ptr<MuteSecurity> self_{this, [](MuteSecurity*) {}};
};

TEST_P(EveryConnect, AHandshakeThatDoesNotEndIsAnError) {
    serve(echo);
    const MuteSecurity security;
    std::optional<int> code;
    runner.spawn(
        [](std::string to, const ClientSecurity& security, std::optional<int>& code) -> Task<> {
            auto stream = co_await connect(to, {.timeout = 2s, .security = &security});
            code = stream ? 0 : stream.error().code();
        }(world->listening_at().to_string(), security, code));
    expect_soon([&] { return server->size() == 1; });
    for (int i = 0; i < 4 && !code; ++i) world->advance(1s);
    EXPECT_EQ(code, std::optional(ETIMEDOUT));
    expect_soon([&] { return server->size() == 0; });
    end_all();
}

class ConnectOnTheFakeNetwork : public ::testing::Test, protected ServedWorld {
  protected:
    ConnectOnTheFakeNetwork() : ServedWorld("fake") {}
    testing::FakeWorld& fake() { return dynamic_cast<testing::FakeWorld&>(*world); }
};

// The first address is silent, so the connection opens after the stagger alone.
TEST_F(ConnectOnTheFakeNetwork, TheHandshakeHasWhatTheConnectionLeftOfTheTime) {
    serve(echo);
    const std::string port = std::to_string(world->listening_at().port());
    const auto silent = core::Address::parse("192.0.2.1:" + port).value();
    fake().network().lose_what_is_sent_to(silent);
    task::set_look_up(runner, [silent](const std::string&) -> Result<std::vector<core::Address>> {
        return std::vector{silent, core::Address::loopback(0)};
    });
    const MuteSecurity security;
    std::optional<int> code;
    const auto before = fake().open_descriptors();
    runner.spawn(
        [](std::string to, const ClientSecurity& security, std::optional<int>& code) -> Task<> {
            auto stream =
                co_await connect(to, {.timeout = 2s, .stagger = 1500ms, .security = &security});
            code = stream ? 0 : stream.error().code();
        }("slow.example:" + port, security, code));
    // The look-up is a real thread's, so no virtual time passes meanwhile.
    while (fake().open_descriptors() == before) {
        world->loop().turn(0ms);
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(world->run_until([&] { return code.has_value(); }));
    EXPECT_EQ(code, std::optional(ETIMEDOUT));
    EXPECT_EQ(server->counters().opened, 1u);
    EXPECT_LT(fake().elapsed(), 3s);
    end_all();
}

}  // namespace
}  // namespace tiderace::tcp
