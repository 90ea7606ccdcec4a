// A static site and its clients, in every weather: what each hears is the beginning of the right
// answers in their order, all of them where nothing went wrong; every connection ends; nothing is
// left over.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/seeds/fake_talk.h"
#include "tests/seeds/http_site.h"
#include "tests/seeds/seed_runner.h"

namespace tiderace::testing {
namespace {

void h1_site(FakeWorld& world, Random& random) {
    const bool quiet = is_quiet(world);
    std::vector<AskingTalk> clients(1 + random.below(4));
    HttpSite site(world, random_h1_options(random, quiet), random_connections(random, quiet));
    ASSERT_TRUE(site.started());
    site.server().listen(world.listen(static_cast<int>(1 + random.below(8))));
    for (AskingTalk& client : clients) {
        choose_requests(random, client, all_asked(), 6);
        begin_talk(world, random, client);
    }
    const bool early =
        serve_and_drain(world, random, site.server(), [&] { return all_done(clients); });
    for (const AskingTalk& client : clients) {
        const bool whole = is_owed_all(client, quiet && !early);
        EXPECT_EQ(fault_in(client.peer->heard(), client.asked, whole), "");
    }
}

TEST(HttpSeeds, Site) {
    run_seeds(h1_site);
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
