#include "tests/seeds/fake_talk.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tiderace::testing {
namespace {

void end_talk(FakeTalk& talk) {
    talk.gave_up = talk.ending == FakeTalk::Ending::close || talk.ending == FakeTalk::Ending::reset;
    if (talk.ending == FakeTalk::Ending::finish) talk.peer->finish();
    if (talk.ending == FakeTalk::Ending::close) talk.peer->close();
    if (talk.ending == FakeTalk::Ending::reset) talk.peer->reset();
}

}  // namespace

void cut_some(Random& random, FakeTalk& talk) {
    talk.cut = random.chance(1, 8);
    if (talk.cut) talk.text.resize(random.below(talk.text.size()));
}

void plan_talk(FakeWorld& world, Random& random, FakeTalk& talk, std::size_t small_bytes_max) {
    FakeNetwork& network = world.network();
    Instant when = world.clock().now() + std::chrono::milliseconds(random.below(200));
    const std::size_t piece_max = random.chance(1, 4) ? small_bytes_max : talk.text.size() + 1;
    for (std::size_t from = 0; from < talk.text.size();) {
        const std::size_t bytes = std::min(talk.text.size() - from, 1 + random.below(piece_max));
        network.at(when, [&talk, from, bytes] {
            if (!talk.gave_up) talk.peer->say(ByteView(talk.text).substr(from, bytes));
        });
        from += bytes;
        when += std::chrono::milliseconds(random.below(random.chance(1, 20) ? 4'000 : 60));
    }
    if (random.chance(1, 10)) {
        network.at(when, [&talk] {
            talk.deaf = true;
            talk.peer->set_listening(false);
        });
    }
    static constexpr FakeTalk::Ending endings[] = {
        FakeTalk::Ending::finish, FakeTalk::Ending::finish, FakeTalk::Ending::finish,
        FakeTalk::Ending::close,  FakeTalk::Ending::reset,  FakeTalk::Ending::none};
    talk.ending = endings[random.below(std::size(endings))];
    network.at(when + std::chrono::milliseconds(random.below(300)), [&talk] { end_talk(talk); });
}

FakePeer::Pace random_pace(Random& random, std::size_t least, std::size_t more) {
    if (random.chance(2, 3)) return {};
    return {.bytes = least + random.below(more),
            .every = std::chrono::microseconds(random.below(50'000))};
}

Duration some_seconds(Random& random, bool patient, std::uint64_t most) {
    if (patient) return 1h;
    return Duration(1s) * static_cast<std::int64_t>(1 + random.below(most));
}

http::H2Options random_h2_options(Random& random, bool patient) {
    http::H2Options options;
    options.header_timeout = some_seconds(random, patient, 10);
    options.body_timeout = some_seconds(random, patient, 10);
    options.write_timeout = some_seconds(random, patient, 20);
    options.idle_timeout = some_seconds(random, patient, 60);
    if (!patient) options.streams_max = static_cast<std::uint32_t>(1 + random.below(20));
    return options;
}

bool is_quiet(FakeWorld& world) {
    const FaultPlan& plan = world.network().plan();
    return plan.describe() == FaultPlan{.seed = plan.seed}.describe();
}

bool serve_and_drain(FakeWorld& world, Random& random, net::TcpServer& server,
                     const std::function<bool()>& all_done) {
    const bool early = random.chance(1, 4);
    const Instant stop =
        world.clock().now() + std::chrono::milliseconds(early ? random.below(500) : 5min / 1ms);
    world.run_until([&] { return all_done() || world.clock().now() >= stop; });
    bool drained = false;
    server.drain(world.loop().now() + 10s, [&] { drained = true; });
    EXPECT_TRUE(world.run_until([&] {
        all_done();
        return drained;
    }));
    EXPECT_EQ(server.size(), 0U);
    world.settle();
    world.advance(10min);
    return early;
}

}  // namespace tiderace::testing
