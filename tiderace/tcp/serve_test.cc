#include "tiderace/tcp/serve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "tiderace/tcp/connect.h"
#include "tiderace/tcp/tcp_fixture.h"

namespace tiderace::tcp {
namespace {

using task::Task;

class ServeTest : public ::testing::Test, protected ServedWorld {
  protected:
    ServeTest() : ServedWorld("fake") {}
};

struct Ended {
    explicit Ended(int& c) : count(&c) {}
    ~Ended() { ++*count; }
    int* count;
};

TEST_F(ServeTest, AHandlerThatThrowsClosesItsConnectionAlone) {
    serve([](Stream stream) -> Task<> {
        while (auto line = co_await stream.read(Line{})) {
            if (*line == "throw") throw std::runtime_error("on purpose");
            co_await stream.write(*line);
        }
    });
    const auto good = world->connect(), bad = world->connect();
    good->say("one\n");
    bad->say("throw\n");
    world->settle();
    EXPECT_TRUE(bad->over());
    good->say("two\n");
    world->settle();
    EXPECT_EQ(good->heard(), "onetwo");
    EXPECT_EQ(tasks->size(), 1U);
    EXPECT_EQ(server->counters().closed[static_cast<int>(net::CloseReason::aborted)], 1U);
    end_all();
}

TEST_F(ServeTest, AHandlerThatThrowsBeforeItsFirstAwaitIsNoOther) {
    serve([](Stream) -> Task<> { throw std::runtime_error("at once"); });
    const auto peer = world->connect();
    world->settle();
    EXPECT_TRUE(peer->over());
    EXPECT_EQ(tasks->size(), 0U);
    end_all();
}

struct LoopCount {
    explicit LoopCount(task::Runner&) {}
    int count = 0;
};

TEST_F(ServeTest, TheStreamsOfALoopShareWhatItsRunnerKeeps) {
    serve([this](Stream stream) -> Task<> {
        EXPECT_EQ(&stream.loop(), &world->loop());
        const std::string count = std::to_string(++stream.runner().local<LoopCount>().count);
        co_await stream.write(count);
    });
    const auto first = world->connect();
    world->settle();
    const auto second = world->connect();
    world->settle();
    EXPECT_EQ(first->heard() + second->heard(), "12");
    end_all();
}

// Where the handler waits when its peer resets.
TEST_F(ServeTest, AHandlerWhosePeerIsGoneEndsAtEachAwait) {
    const std::string much(10'000'000, 'x');
    const std::vector<std::pair<std::string, Handler>> handlers{
        {"a read", [](Stream s) -> Task<> { co_await s.read(); }},
        {"a frame", [](Stream s) -> Task<> { co_await s.read_exactly(1'000); }},
        {"a sleep", [](Stream) -> Task<> { co_await task::sleep(24h); }},
        {"a write", [&](Stream s) -> Task<> { co_await s.write(much); }},
        {"a read in a scope",
         [](Stream s) -> Task<> {
             task::Scope scope;
             scope.spawn([](Stream& s) -> Task<> { co_await s.read(); }(s));
             co_await scope.join();
         }},
        {"a sleep between writes",
         [](Stream s) -> Task<> {
             while (true) {
                 co_await s.write("tick");
                 co_await task::sleep(1s);
             }
         }},
        {"a write, for ever",
         [&](Stream s) -> Task<> {
             while (true) co_await s.write(much);
         }},
    };
    for (const auto& [name, body] : handlers) {
        int ended = 0;
        ServedWorld one("fake");
        one.serve([&](Stream s) -> Task<> {
            const Ended here(ended);
            co_await body(std::move(s));
        });
        const auto peer = one.world->connect();
        peer->set_listening(false);
        one.world->settle();
        EXPECT_EQ(one.tasks->size(), 1U) << name;
        peer->reset();
        one.world->settle();
        one.world->advance(5s);
        EXPECT_EQ(one.tasks->size(), 0U) << name;
        EXPECT_EQ(one.server->size(), 0U) << name;
        EXPECT_EQ(ended, 1) << name;
    }
    end_all();
}

// Both are found to go on before the first of them has ended the task.
TEST_F(ServeTest, ChildrenThatWriteForEverEndTheirOwnTaskAlone) {
    serve([](Stream stream) -> Task<> {
        const auto word = co_await stream.read();
        const bool goes_on = word && *word == "go on";
        while (co_await stream.read()) continue;
        if (!goes_on) co_return;
        task::Scope scope;
        for (int i = 0; i < 2; ++i) {
            scope.spawn([](Stream& shared) -> Task<> {
                while (true) co_await shared.write("tick");
            }(stream));
        }
        co_await scope.join();
    });
    const auto careless = world->connect(), other = world->connect();
    careless->say("go on");
    other->say("stay");
    world->settle();
    EXPECT_EQ(tasks->size(), 2U);
    careless->reset();
    world->settle();
    EXPECT_EQ(tasks->size(), 1U);
    EXPECT_FALSE(other->over());
    other->finish();
    world->settle();
    EXPECT_EQ(tasks->size(), 0U);
    end_all();
}

TEST_F(ServeTest, HandlersMayBeCutOffAtEachAwaitWhenTheServerEnds) {
    for (const bool speaks : {false, true}) {
        int ended = 0;
        {
            ServedWorld one("fake");
            one.serve([&](Stream s) -> Task<> {
                const Ended here(ended);
                if (speaks) co_await s.read_exactly(1'000);
                co_await task::sleep(24h);
            });
            const auto peer = one.world->connect();
            if (speaks) peer->say("half");
            one.world->settle();
        }
        EXPECT_EQ(ended, 1);
    }
    end_all();
}

TEST_F(ServeTest, DrainingEndsReadsBetweenFramesAndNotWithin) {
    std::vector<End> ends;
    serve([&](Stream stream) -> Task<> {
        while (auto line = co_await stream.read(Line{})) co_await stream.write(*line);
        ends.push_back(stream.end());
        co_await stream.write("bye");
    });
    const auto idle = world->connect(), within = world->connect(), full = world->connect();
    within->say("ha");
    full->say("said\n");
    world->settle();
    full->say("in time\n");
    drain();
    world->settle();
    EXPECT_EQ(idle->heard(), "bye");
    EXPECT_TRUE(idle->ended());
    EXPECT_EQ(full->heard(), "saidin timebye") << "what has arrived is answered";
    EXPECT_FALSE(within->over());
    within->say("lf\n");
    world->settle();
    EXPECT_EQ(within->heard(), "halfbye");
    for (const auto& peer : {&idle, &within, &full}) (*peer)->finish();
    world->settle();
    EXPECT_TRUE(drained);
    EXPECT_EQ(ends, (std::vector{End::stopping, End::stopping, End::stopping}));
    EXPECT_EQ(tasks->size(), 0U);
    end_all();
}

TEST_F(ServeTest, DrainingCutsOffWhatDoesNotEnd) {
    serve([](Stream) -> Task<> { co_await task::sleep(24h); });
    const auto peer = world->connect();
    world->settle();
    drain(2s);
    world->settle();
    EXPECT_FALSE(drained);
    world->advance(3s);
    EXPECT_TRUE(drained);
    EXPECT_EQ(tasks->size(), 0U);
    end_all();
}

TEST_F(ServeTest, ThousandsComeAndGoWithoutATrace) {
    serve(echo);
    for (int i = 0; i < 2'000; ++i) {
        const auto peer = world->connect();
        peer->say("x");
        world->settle();
        i % 2 == 0 ? peer->reset() : peer->finish();
        world->advance(1ms);
    }
    EXPECT_EQ(tasks->size(), 0U);
    EXPECT_EQ(server->size(), 0U);
    end_all();
}

// A seed, a run: short reads and writes, resets, delays.
TEST(ServeFaults, EveryByteComesBackOrTheConnectionEnds) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        testing::FakeWorld world(testing::FaultPlan::from_seed(seed));
        task::Runner runner(world.loop());
        const Handler handler = echo;
        const ServeOptions options{.stream = {.idle = 30s}};
        Tasks tasks(runner, handler, options);
        net::TcpServer server(world.loop(), tasks, {});
        server.listen(world.listen());
        const std::string text(5'000, 'x');
        std::vector<std::unique_ptr<testing::Peer>> peers;
        for (int i = 0; i < 8; ++i) {
            peers.push_back(world.connect());
            peers.back()->say(text);
        }
        world.run_until([&] {
            return std::ranges::all_of(peers, [&](const auto& peer) {
                return peer->over() || peer->heard().size() == text.size();
            });
        });
        for (const auto& peer : peers) EXPECT_TRUE(text.starts_with(peer->heard())) << seed;
        peers.clear();
        world.advance(2min);
        EXPECT_EQ(tasks.size(), 0U) << "seed " << seed;
        EXPECT_EQ(server.size(), 0U) << "seed " << seed;
    }
}

}  // namespace
}  // namespace tiderace::tcp
