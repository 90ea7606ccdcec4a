#include "tiderace/tcp/dial.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "tiderace/task/lookup.h"
#include "tiderace/task/runner_fixture.h"
#include "tiderace/task/within.h"
#include "tiderace/testing/world.h"

namespace tiderace::tcp {
namespace {

using Addresses = std::vector<core::Address>;

class DialTest : public task::TaskTest {
  protected:
    void SetUp() override {
        listener_ = world.listen();
        port_ = std::to_string(world.listening_at().port());
    }
    // Names answer from now on with what `look_up` says, on a thread of the pool.
    void know(decltype(core::ResolverOptions::look_up) look_up) {
        task::set_look_up(runner, std::move(look_up));
    }
    Result<Dialed> dial_now(const std::string& to, ConnectOptions options = {}) {
        Result<Dialed> made = fail(Error(0, "", ""));
        run([](std::string to, ConnectOptions options, Result<Dialed>& made) -> task::Task<> {
            made = co_await dial(to, options);
        }(to, options, made));
        return made;
    }

    core::Descriptor listener_;
    std::string port_;
};

TEST_F(DialTest, OpensALiteralWithoutALookup) {
    know([](const std::string&) -> Result<Addresses> {
        ADD_FAILURE();
        return Addresses{};
    });
    const auto made = dial_now("127.0.0.1:" + port_);
    ASSERT_TRUE(made.has_value()) << made.error().message();
    EXPECT_EQ(made->peer, world.listening_at());
    EXPECT_TRUE(dial_now("localhost:" + port_).has_value());
}

TEST_F(DialTest, SaysWhatIsWrongWithTheText) {
    const auto made = dial_now("nonsense");
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().message(),
              "address \"nonsense\": write a port behind it, as in host:80");
}

TEST_F(DialTest, NamesTheHostAndTheAddressOfAFault) {
    const auto made = dial_now("127.0.0.1:9");
    EXPECT_EQ(made.error().message(),
              "connect to 127.0.0.1:9: connection refused; nothing listens there");
    EXPECT_EQ(dial_now("localhost:9").error().message(),
              "connect to localhost:9 at 127.0.0.1:9: connection refused; nothing listens there");
}

TEST_F(DialTest, TriesAgainAfterAPauseThatDoubles) {
    const auto made = dial_now("127.0.0.1:9", {.attempts = 4, .pause = 100ms});
    EXPECT_EQ(made.error().code(), ECONNREFUSED);
    EXPECT_GE(elapsed(), 525ms);  // 75 + 150 + 300
    EXPECT_LE(elapsed(), 900ms);
    const Duration before = elapsed();
    dial_now("127.0.0.1:9", {.attempts = 4, .pause = 1s, .pause_max = 1s});
    EXPECT_LE(elapsed() - before, 3800ms);
}

TEST_F(DialTest, SucceedsWhenTheServerIsBack) {
    std::optional<core::Descriptor> late;
    listener_.reset();
    const core::Address at = world.listening_at();
    world.network().at(world.clock().now() + 200ms, [&] {
        sockaddr_storage storage;
        const socklen_t bytes = at.to_sockaddr(storage);
        const int fd = world.kernel().open_socket(storage.ss_family, SOCK_STREAM, 0);
        world.kernel().bind(fd, reinterpret_cast<sockaddr*>(&storage), bytes);
        world.kernel().listen(fd, 8);
        late.emplace(world.kernel(), fd);
    });
    EXPECT_TRUE(dial_now("127.0.0.1:" + port_, {.attempts = 10}).has_value());
    EXPECT_GE(elapsed(), 200ms);
}

TEST_F(DialTest, ADeadlineOfTheTaskEndsIt) {
    const auto there = core::Address::parse("192.0.2.1:80").value();
    world.network().lose_what_is_sent_to(there);
    bool late = false;
    run([](bool& late) -> task::Task<> {
        auto made = co_await task::within(2s, dial("192.0.2.1:80"));
        late = !made.has_value() || (!made->has_value() && made->error().code() == ETIMEDOUT);
    }(late));
    EXPECT_TRUE(late);
    EXPECT_GE(elapsed(), 2s);
    EXPECT_LT(elapsed(), 3s);
    const auto made = dial_now("192.0.2.1:80", {.timeout = 1s});
    EXPECT_EQ(made.error().code(), ETIMEDOUT);
}

TEST_F(DialTest, UsesAllAddressesOfAName) {
    know([](const std::string& host) -> Result<Addresses> {
        EXPECT_EQ(host, "example.org");
        return Addresses{core::Address::parse("192.0.2.7:0").value(), core::Address::loopback(0)};
    });
    Result<Dialed> made = fail(Error(0, "", ""));
    Kept root;
    root.start(runner, [](std::string to, Result<Dialed>& made) -> task::Task<> {
        made = co_await dial(to);
    }("example.org:" + port_, made));
    turn_until([&] { return root.ended; });
    ASSERT_TRUE(made.has_value()) << made.error().message();
    EXPECT_EQ(made->peer, world.listening_at());
}

TEST_F(DialTest, AnUnknownHostIsAnError) {
    know([](const std::string& host) -> Result<Addresses> {
        return fail(Error(0, "look up", host, "there is no such host"));
    });
    Result<Dialed> made = fail(Error(0, "", ""));
    Kept root;
    root.start(runner, [](Result<Dialed>& made) -> task::Task<> {
        made = co_await dial("nowhere.example:80");
    }(made));
    turn_until([&] { return root.ended; });
    EXPECT_EQ(made.error().message(), "look up nowhere.example: there is no such host");
}

// The same on every engine, over real sockets.
class EveryDial : public ::testing::TestWithParam<std::string> {
  protected:
    std::unique_ptr<testing::World> world_ = testing::make_world(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Engines, EveryDial, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& engine) { return testing::label_of_world(engine.param); });

TEST_P(EveryDial, OpensAndIsRefused) {
    task::Runner runner(world_->loop());
    std::string nobody;
    {
        const auto closed_again = world_->listen();
        nobody = world_->listening_at().to_string();
    }
    const auto listener = world_->listen();
    int done = 0;
    runner.spawn([](std::string to, std::string nobody, int& done) -> task::Task<> {
        auto made = co_await dial(to);
        EXPECT_TRUE(made.has_value());
        auto refused = co_await dial(nobody);
        EXPECT_EQ(refused.error().code(), ECONNREFUSED);
        ++done;
    }(world_->listening_at().to_string(), nobody, done));
    EXPECT_TRUE(world_->run_until([&] { return done == 1; }));
}

}  // namespace
}  // namespace tiderace::tcp
