// An echo server and its peers, in every weather: what a peer hears is the beginning of what it
// said, all of it where nothing went wrong; each connection ends once; nothing is left over.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/seeds/seed_runner.h"
#include "tiderace/testing/echo_session.h"

namespace tiderace::testing {
namespace {

enum class Ending : std::uint8_t { finish, close, reset, none, count_ };

// One peer and what it means to do.
struct Talker {
    std::unique_ptr<FakePeer> peer;
    std::string text;
    Ending ending = Ending::finish;
    bool gave_up = false;  // it closed or reset
    bool deaf = false;

    bool done() const { return gave_up || peer->over() || peer->refused(); }
};

std::string random_text(Random& random) {
    static constexpr std::size_t sizes[] = {1, 60, 700, 4'000, 30'000};
    std::string text(1 + random.below(sizes[random.below(std::size(sizes))]), '\0');
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = static_cast<char>('a' + (i * 7 + i / 26) % 26);
    }
    return text;
}

FakePeer::Pace random_pace(Random& random, std::size_t bytes) {
    if (random.chance(2, 3)) return {};
    // At most a few hundred steps, so that a seed stays short.
    return {.bytes = 1 + bytes / 200 + random.below(300),
            .every = std::chrono::microseconds(random.below(50'000))};
}

void plan_talk(FakeWorld& world, Random& random, Talker& talker) {
    FakeNetwork& network = world.network();
    Instant when = world.clock().now() + std::chrono::milliseconds(random.below(200));
    std::size_t from = 0;
    while (from < talker.text.size()) {
        const std::size_t bytes = 1 + random.below(talker.text.size() - from);
        network.at(when, [&talker, from, bytes] {
            if (!talker.gave_up) talker.peer->say(ByteView(talker.text).substr(from, bytes));
        });
        from += bytes;
        when += std::chrono::milliseconds(random.below(100));
    }
    if (random.chance(1, 8)) {
        network.at(when, [&talker] {
            talker.deaf = true;
            talker.peer->set_listening(false);
        });
    }
    network.at(when + std::chrono::milliseconds(random.below(300)), [&talker] {
        switch (talker.ending) {
            case Ending::finish:
                talker.peer->finish();
                return;
            case Ending::close:
                talker.gave_up = true;
                talker.peer->close();
                return;
            case Ending::reset:
                talker.gave_up = true;
                talker.peer->reset();
                return;
            default:
                return;
        }
    });
}

net::TcpServerOptions random_options(Random& random) {
    net::TcpServerOptions options;
    options.connection.write = std::chrono::milliseconds(500 + random.below(10'000));
    if (random.chance(1, 3)) {
        options.connection.queue_bytes_low = random.below(500);
        options.connection.queue_bytes_high =
            options.connection.queue_bytes_low + 1 + random.below(2'000);
    }
    if (random.chance(1, 6)) options.connections_max = 1 + random.below(3);
    if (random.chance(1, 2)) options.refusal = "busy";
    return options;
}

void expect_echo(const Talker& talker, bool undisturbed) {
    const std::string& heard = talker.peer->heard();
    // Refused: it is said in one send, whatever becomes of it. Texts begin with an "a".
    if (!heard.empty() && ByteView("busy").starts_with(heard)) return;
    EXPECT_EQ(heard, talker.text.substr(0, heard.size()));
    if (undisturbed && talker.ending == Ending::finish && !talker.deaf) {
        EXPECT_EQ(heard.size(), talker.text.size());
        EXPECT_TRUE(talker.peer->ended());
    }
}

void echo(FakeWorld& world, Random& random) {
    const bool quiet = world.network().plan().describe() ==
                       FaultPlan{.seed = world.network().plan().seed}.describe();
    const net::TcpServerOptions options = random_options(random);
    EchoSessions sessions;
    std::vector<Talker> talkers(1 + random.below(6));
    {
        net::TcpServer server(world.loop(), sessions, options);
        server.listen(world.listen(static_cast<int>(1 + random.below(8))));
        for (Talker& talker : talkers) {
            talker.text = random_text(random);
            talker.ending = static_cast<Ending>(random.below(static_cast<int>(Ending::count_)));
            talker.peer = world.connect_fake();
            talker.peer->set_saying_pace(random_pace(random, talker.text.size()));
            talker.peer->set_hearing_pace(random_pace(random, talker.text.size()));
            plan_talk(world, random, talker);
        }
        const bool early = random.chance(1, 4);  // the server stops in the middle of it
        const Instant stop =
            world.clock().now() + std::chrono::milliseconds(early ? random.below(500) : 5min / 1ms);
        world.run_until([&] {
            return world.clock().now() >= stop ||
                   std::ranges::all_of(talkers, [](const Talker& t) { return t.done(); });
        });
        bool drained = false;
        server.drain(world.loop().now() + 10s, [&] { drained = true; });
        EXPECT_TRUE(world.run_until([&] { return drained; }));
        EXPECT_EQ(server.size(), 0U);
        EXPECT_EQ(sessions.opened, sessions.closed);
        world.settle();
        world.advance(10min);  // slow peers hear the rest
        const bool undisturbed = quiet && !early && options.connections_max > talkers.size();
        for (const Talker& talker : talkers) expect_echo(talker, undisturbed);
    }
    EXPECT_EQ(sessions.opened, sessions.closed);
}

TEST(NetSeeds, Echo) {
    run_seeds(echo);
}

// The same seed twice is the same run, call by call.
TEST(NetSeeds, AreReproducible) {
    const auto trace_of = [](std::uint64_t seed) {
        FakeWorld world(FaultPlan::from_seed(seed));
        world.network().trace_on();
        Random random(seed);
        echo(world, random);
        return world.network().trace();
    };
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        EXPECT_EQ(trace_of(seed), trace_of(seed)) << "seed " << seed;
    }
}

}  // namespace
}  // namespace tiderace::testing
