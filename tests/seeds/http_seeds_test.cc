// A static site and its clients, in every weather: what each hears is the beginning of the right
// answers in their order, all of them where nothing went wrong; every connection ends; nothing is
// left over.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/seeds/fake_talk.h"
#include "tests/seeds/http_site.h"
#include "tests/seeds/seed_runner.h"

namespace tiderace::testing {
namespace {

struct Client : FakeTalk {
    std::vector<const Asked*> asked;
};

void choose_requests(Random& random, Client& client) {
    const std::vector<Asked>& all = all_asked();
    for (std::uint64_t i = 1 + random.below(6); i > 0; --i) {
        const Asked& one = all[random.below(all.size())];
        client.asked.push_back(&one);
        client.text += one.request;
        if (one.last && random.chance(3, 4)) break;
    }
    cut_some(random, client);
}

http::H1Options random_options(Random& random, bool patient) {
    http::H1Options options;
    options.header_timeout = some_seconds(random, patient, 10);
    options.body_timeout = some_seconds(random, patient, 10);
    options.idle_timeout = some_seconds(random, patient, 60);
    return options;
}

net::TcpServerOptions random_connections(Random& random, bool patient) {
    net::TcpServerOptions options;
    options.connection.write = some_seconds(random, patient, 20);
    if (random.chance(1, 3)) {
        options.connection.queue_bytes_low = random.below(500);
        options.connection.queue_bytes_high =
            options.connection.queue_bytes_low + 1 + random.below(2'000);
    }
    return options;
}

void site(FakeWorld& world, Random& random) {
    const bool quiet = is_quiet(world);
    std::vector<Client> clients(1 + random.below(4));
    HttpSite site(world, random_options(random, quiet), random_connections(random, quiet));
    ASSERT_TRUE(site.started());
    site.server().listen(world.listen(static_cast<int>(1 + random.below(8))));
    for (Client& client : clients) {
        choose_requests(random, client);
        client.peer = world.connect_fake();
        client.peer->set_saying_pace(random_pace(random, 1 + client.text.size() / 60, 300));
        client.peer->set_hearing_pace(random_pace(random, 1'700 * client.asked.size(), 300));
        plan_talk(world, random, client, 40);
    }
    const bool early = serve_and_drain(world, random, site.server(), [&] {
        return std::ranges::all_of(clients, [](const Client& c) { return c.done(); });
    });
    for (const Client& client : clients) {
        const bool whole = quiet && !early && !client.deaf && !client.cut &&
                           client.ending == FakeTalk::Ending::finish;
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
