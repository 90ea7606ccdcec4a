#include "tiderace/tcp/connect.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>

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

}  // namespace
}  // namespace tiderace::tcp
