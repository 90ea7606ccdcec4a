// An echo server and its peers, in every weather: what a peer hears is the beginning of what it
// said, all of it where nothing went wrong; each connection ends once; nothing is left over.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/seeds/fake_talk.h"
#include "tests/seeds/seed_runner.h"
#include "tiderace/testing/echo_session.h"

namespace tiderace::testing {
namespace {

std::string random_text(Random& random) {
    static constexpr std::size_t sizes[] = {1, 60, 700, 4'000, 30'000};
    std::string text(1 + random.below(sizes[random.below(std::size(sizes))]), '\0');
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = static_cast<char>('a' + (i * 7 + i / 26) % 26);
    }
    return text;
}

net::TcpServerOptions random_server_options(Random& random) {
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

void expect_echo(const FakeTalk& talker, bool undisturbed) {
    const std::string& heard = talker.peer->heard();
    // Refused: one best-effort send, then close. Texts begin with an "a".
    if (!heard.empty() && ByteView("busy").starts_with(heard)) return;
    EXPECT_EQ(heard, talker.text.substr(0, heard.size()));
    if (undisturbed && talker.ending == FakeTalk::Ending::finish && !talker.deaf) {
        EXPECT_EQ(heard.size(), talker.text.size());
        EXPECT_TRUE(talker.peer->ended());
    }
}

void echo(FakeWorld& world, Random& random) {
    const bool quiet = is_quiet(world);
    const net::TcpServerOptions options = random_server_options(random);
    EchoSessions sessions;
    std::vector<FakeTalk> talkers(1 + random.below(6));
    {
        net::TcpServer server(world.loop(), sessions, options);
        server.listen(world.listen(static_cast<int>(1 + random.below(8))));
        for (FakeTalk& talker : talkers) {
            talker.text = random_text(random);
            talker.peer = world.connect_fake();
            talker.peer->set_saying_pace(random_pace(random, 1 + talker.text.size() / 200, 300));
            talker.peer->set_hearing_pace(random_pace(random, 1 + talker.text.size() / 200, 300));
            plan_talk(world, random, talker, 1 + talker.text.size() / 10);
        }
        const bool early = serve_and_drain(world, random, server, [&] {
            return std::ranges::all_of(talkers, [](const FakeTalk& t) { return t.done(); });
        });
        EXPECT_EQ(sessions.opened, sessions.closed);
        const bool undisturbed = quiet && !early && options.connections_max > talkers.size();
        for (const FakeTalk& talker : talkers) expect_echo(talker, undisturbed);
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
