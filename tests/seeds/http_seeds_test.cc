// A static site and its clients, in every weather: what each hears is the beginning of the right
// answers in their order, all of them where nothing went wrong; every connection ends; nothing is
// left over.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/seeds/http_site.h"
#include "tests/seeds/seed_runner.h"

namespace tiderace::testing {
namespace {

struct Client {
    std::unique_ptr<FakePeer> peer;
    std::vector<const Asked*> asked;
    std::string text;
    bool finishes = true;  // else it closes, resets, or just stops
    bool gave_up = false;
    bool cut = false;  // it does not say all of it
    bool deaf = false;

    bool done() const { return gave_up || peer->over() || peer->refused(); }
};

void choose_requests(Random& random, Client& client) {
    const std::vector<Asked>& all = all_asked();
    for (std::uint64_t i = 1 + random.below(6); i > 0; --i) {
        const Asked& one = all[random.below(all.size())];
        client.asked.push_back(&one);
        client.text += one.request;
        if (one.last && random.chance(3, 4)) break;
    }
    client.cut = random.chance(1, 8);
    if (client.cut) client.text.resize(random.below(client.text.size()));
}

FakePeer::Pace random_pace(Random& random, std::size_t bytes) {
    if (random.chance(2, 3)) return {};
    return {.bytes = 1 + bytes / 60 + random.below(300),
            .every = std::chrono::microseconds(random.below(50'000))};
}

void end_talk(Random& random, FakeNetwork& network, Client& client, Instant when) {
    client.finishes = random.chance(1, 2);
    const std::uint64_t ending = client.finishes ? 0 : 1 + random.below(3);
    network.at(when, [&client, ending] {
        client.gave_up = ending == 1 || ending == 2;
        if (ending == 0) client.peer->finish();
        if (ending == 1) client.peer->close();
        if (ending == 2) client.peer->reset();
    });
}

void plan_talk(FakeWorld& world, Random& random, Client& client) {
    FakeNetwork& network = world.network();
    Instant when = world.clock().now() + std::chrono::milliseconds(random.below(200));
    const std::size_t piece_max = random.chance(1, 4) ? 40 : client.text.size() + 1;
    for (std::size_t from = 0; from < client.text.size();) {
        const std::size_t left = client.text.size() - from;
        const std::size_t bytes = std::min(left, 1 + random.below(piece_max));
        network.at(when, [&client, from, bytes] {
            if (!client.gave_up) client.peer->say(ByteView(client.text).substr(from, bytes));
        });
        from += bytes;
        when += std::chrono::milliseconds(random.below(random.chance(1, 20) ? 4'000 : 60));
    }
    if (random.chance(1, 10)) {
        network.at(when, [&client] {
            client.deaf = true;
            client.peer->set_listening(false);
        });
    }
    end_talk(random, network, client, when + std::chrono::milliseconds(random.below(300)));
}

Duration some_seconds(Random& random, std::uint64_t most) {
    return Duration(1s) * static_cast<std::int64_t>(1 + random.below(most));
}

http::H1Options random_options(Random& random, bool patient) {
    http::H1Options options;
    options.header_timeout = patient ? Duration(1h) : some_seconds(random, 10);
    options.body_timeout = patient ? Duration(1h) : some_seconds(random, 10);
    options.idle_timeout = patient ? Duration(1h) : some_seconds(random, 60);
    return options;
}

net::TcpServerOptions random_connections(Random& random, bool patient) {
    net::TcpServerOptions options;
    options.connection.write = patient ? Duration(1h) : some_seconds(random, 20);
    if (random.chance(1, 3)) {
        options.connection.queue_bytes_low = random.below(500);
        options.connection.queue_bytes_high =
            options.connection.queue_bytes_low + 1 + random.below(2'000);
    }
    return options;
}

void site(FakeWorld& world, Random& random) {
    const FaultPlan& plan = world.network().plan();
    const bool quiet = plan.describe() == FaultPlan{.seed = plan.seed}.describe();
    std::vector<Client> clients(1 + random.below(4));
    HttpSite site(world, random_options(random, quiet), random_connections(random, quiet));
    ASSERT_TRUE(site.started());
    site.server().listen(world.listen(static_cast<int>(1 + random.below(8))));
    for (Client& client : clients) {
        choose_requests(random, client);
        client.peer = world.connect_fake();
        client.peer->set_saying_pace(random_pace(random, client.text.size()));
        client.peer->set_hearing_pace(random_pace(random, 100'000 * client.asked.size()));
        plan_talk(world, random, client);
    }
    const bool early = random.chance(1, 4);  // the server stops in the middle of it
    const Instant stop =
        world.clock().now() + std::chrono::milliseconds(early ? random.below(500) : 5min / 1ms);
    world.run_until([&] {
        return world.clock().now() >= stop ||
               std::ranges::all_of(clients, [](const Client& c) { return c.done(); });
    });
    bool drained = false;
    site.server().drain(world.loop().now() + 10s, [&] { drained = true; });
    EXPECT_TRUE(world.run_until([&] { return drained; }));
    EXPECT_EQ(site.server().size(), 0U);
    world.settle();
    world.advance(10min);  // slow peers hear the rest
    for (const Client& client : clients) {
        const bool whole = quiet && !early && client.finishes && !client.deaf && !client.cut;
        EXPECT_EQ(fault_in(client.peer->heard(), client.asked, whole), "");
    }
}

TEST(HttpSeeds, Site) {
    run_seeds(site);
}

TEST(HttpSeeds, EveryKindOfRequestHasAnAnswer) {
    int last = 0;
    for (const Asked& one : all_asked()) {
        EXPECT_TRUE(one.answer.starts_with("HTTP/1.1 ")) << one.request;
        EXPECT_NE(one.answer.find("\r\n\r\n"), std::string::npos) << one.request;
        EXPECT_EQ(fault_in(one.answer, {&one}, true), "");
        EXPECT_NE(fault_in(one.answer + "x", {&one}, true), "");
        EXPECT_NE(fault_in(one.answer.substr(0, one.answer.size() - 1), {&one}, true), "");
        last += one.last ? 1 : 0;
    }
    EXPECT_GE(last, 5);
}

// One request, each of its system calls failing in turn.
TEST(HttpFaults, EachCallOfARequestMayFail) {
    for (const Asked& one : all_asked()) {
        SCOPED_TRACE(one.request);
        const std::uint64_t calls = fail_each([&](std::uint64_t nth) {
            FakeWorld world;
            {
                HttpSite site(world, {}, {});
                site.server().listen(world.listen());
                world.kernel().fail(nth);
                const auto peer = world.connect();
                peer->say(one.request);
                world.advance(2min);
                const std::string heard = without_dates(peer->heard());
                const bool is_fault =
                    heard.starts_with("HTTP/1.1 503 ") || heard.starts_with("HTTP/1.1 500 ");
                EXPECT_EQ(is_fault ? "" : fault_in(heard, {&one}, false), "");
                EXPECT_TRUE(peer->over());
                EXPECT_EQ(site.server().size(), 0U);
            }
            EXPECT_EQ(world.open_descriptors(), 0);
            EXPECT_EQ(world.loop().blocks().taken(), 0U);
            return world.kernel().failed();
        });
        EXPECT_GT(calls, 4U);
    }
}

}  // namespace
}  // namespace tiderace::testing
