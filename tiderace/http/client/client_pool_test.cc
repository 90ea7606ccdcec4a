#include "tiderace/http/client/client_pool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/http/client/client_fixture.h"
#include "tiderace/task/within.h"

namespace tiderace::http {
namespace {

class ClientPoolTest : public ClientTest {
  protected:
    // A server that answers when the test wants it.
    void hold(ClientTestServer& server) {
        server.answer = [this](net::Connection& connection, const std::string&) {
            held.push_back(&connection);
        };
    }
    void answer_next() {
        held.front()->write(ok("x"));
        held.erase(held.begin());
        world.settle();
    }
    std::size_t done(const std::vector<std::shared_ptr<std::string>>& all) {
        std::size_t count = 0;
        for (const auto& told : all) count += *told == "200 x" ? 1 : 0;
        return count;
    }

    std::vector<net::Connection*> held;
};

TEST_F(ClientPoolTest, AServerHasSoManyConnectionsAndTheRestWaitInTurn) {
    ClientTestServer server(world);
    hold(server);
    make({.timeout = 1h, .pool = {.connections_per_host_max = 2}});
    std::vector<std::shared_ptr<std::string>> all;
    for (int i = 0; i < 5; ++i) all.push_back(begin(ClientRequest("GET", server.url)));
    world.settle();
    EXPECT_EQ(server.connections(), 2U);
    EXPECT_EQ(client->pool()->waiting(), 3U);
    for (std::size_t answered = 1; answered <= 5; ++answered) {
        answer_next();
        EXPECT_EQ(done(all), answered);
        EXPECT_EQ(*all[answered - 1], "200 x");  // first come, first served
    }
    EXPECT_EQ(server.opened(), 2);
    EXPECT_EQ(client->pool()->waiting(), 0U);
    EXPECT_EQ(client->pool()->idle(), 2U);
    EXPECT_EQ(client->pool()->counters().reused, 3U);
    EXPECT_EQ(client->pool()->counters().waited, 3U);
}

TEST_F(ClientPoolTest, OneThatWasWokenForNothingKeepsItsPlaceInAFullQueue) {
    ClientTestServer server(world);
    hold(server);
    make({.timeout = 1h, .pool = {.connections_max = 1, .waiting_max = 1}});
    std::vector<std::shared_ptr<std::string>> late;
    // Its connection fails, which wakes the one that waits; before that one runs, another takes
    // the place, and one more the queue.
    auto overtake = [&]() -> task::Task<> {
        auto refused = co_await client->get("http://127.0.0.1:1/");
        EXPECT_FALSE(refused.has_value());
        for (int i = 0; i < 2; ++i) late.push_back(begin(ClientRequest("GET", server.url)));
    };
    runner.spawn(overtake());
    const auto early = begin(ClientRequest("GET", server.url));
    EXPECT_EQ(client->pool()->waiting(), 1U);
    world.settle();
    ASSERT_EQ(late.size(), 2U);
    EXPECT_EQ(*early, "");
    EXPECT_EQ(client->pool()->waiting(), 2U);
    answer_next();
    EXPECT_EQ(*early, "");
    EXPECT_EQ(*late[0], "200 x");
    answer_next();
    EXPECT_EQ(*early, "200 x");  // before one that came later
    answer_next();
    EXPECT_EQ(*late[1], "200 x");
}

TEST_F(ClientPoolTest, AFullQueueRefusesAndALateOneLeaves) {
    ClientTestServer server(world);
    hold(server);
    make({.timeout = 1h, .pool = {.connections_per_host_max = 1, .waiting_max = 2}});
    const auto first = begin(ClientRequest("GET", server.url));
    const auto late = begin(ClientRequest("GET", server.url).timeout(1s));
    const auto last = begin(ClientRequest("GET", server.url));
    world.settle();
    EXPECT_TRUE(get(server.url).starts_with("! busy: "));
    world.advance(2s);
    EXPECT_TRUE(late->starts_with("! timed_out: ")) << *late;
    EXPECT_EQ(client->pool()->waiting(), 1U);
    answer_next();
    EXPECT_EQ(*first, "200 x");
    answer_next();
    EXPECT_EQ(*last, "200 x");
}

TEST_F(ClientPoolTest, ASlowServerLeavesPlacesInTheQueueToOthers) {
    ClientTestServer slow(world);
    ClientTestServer quick(world);
    hold(slow);
    make({.timeout = 1h,
          .pool = {.connections_per_host_max = 1, .waiting_max = 4, .waiting_per_host_max = 2}});
    const auto first = begin(ClientRequest("GET", slow.url));
    const auto second = begin(ClientRequest("GET", slow.url));
    const auto late = begin(ClientRequest("GET", slow.url).timeout(1s));
    world.settle();
    EXPECT_EQ(get(slow.url),
              "! busy: " + slow.url + ": too many requests wait for it (waiting_per_host_max)");
    // The other server has its own share.
    net::Connection* other = nullptr;
    quick.answer = [&](net::Connection& connection, const std::string&) { other = &connection; };
    std::vector<std::shared_ptr<std::string>> all;
    for (int i = 0; i < 3; ++i) all.push_back(begin(ClientRequest("GET", quick.url)));
    world.settle();
    EXPECT_EQ(client->pool()->waiting(), 4U);
    // All places are taken now, so a third server, which could have some, gets none.
    ClientTestServer third(world);
    hold(third);
    const auto served = begin(ClientRequest("GET", third.url));
    EXPECT_EQ(get(third.url),
              "! busy: " + third.url + ": too many requests of this client wait (waiting_max)");
    quick.say(ok("y"));
    other->write(ok("y"));
    world.settle();
    for (const auto& told : all) EXPECT_EQ(*told, "200 y");
    // One that gives up gives its place back.
    world.advance(2s);
    EXPECT_TRUE(late->starts_with("! timed_out: ")) << *late;
    EXPECT_EQ(client->pool()->waiting(), 1U);
    const auto last = begin(ClientRequest("GET", slow.url));
    world.settle();
    EXPECT_EQ(*last, "");
    while (!held.empty()) answer_next();
    for (const auto& told : {first, second, last, served}) EXPECT_EQ(*told, "200 x");
    EXPECT_EQ(client->pool()->waiting(), 0U);
}

// Where no connection can be had for it, a server is known by its waiting requests alone.
TEST_F(ClientPoolTest, AServerWithoutAConnectionHasItsShareToo) {
    ClientTestServer busy(world);
    ClientTestServer other(world);
    hold(busy);
    other.say(ok("y"));
    make({.timeout = 1h, .pool = {.connections_max = 1, .waiting_per_host_max = 1}});
    const auto first = begin(ClientRequest("GET", busy.url));
    world.settle();
    for (int round = 0; round < 2; ++round) {
        const auto waits = begin(ClientRequest("GET", other.url).timeout(1s));
        EXPECT_TRUE(get(other.url).starts_with("! busy: ")) << "round " << round;
        world.advance(2s);
        EXPECT_TRUE(waits->starts_with("! timed_out: ")) << *waits;
    }
    const auto waits = begin(ClientRequest("GET", other.url));
    world.settle();
    answer_next();
    EXPECT_EQ(*first, "200 x");
    EXPECT_EQ(*waits, "200 y");
}

TEST_F(ClientPoolTest, AnIdleConnectionMakesRoomForAnotherServer) {
    ClientTestServer one(world);
    ClientTestServer two(world);
    one.say(ok("one"));
    two.say(ok("two"));
    make({.pool = {.connections_max = 1}});
    EXPECT_EQ(get(one.url), "200 one");
    EXPECT_EQ(get(two.url), "200 two");
    world.settle();
    EXPECT_EQ(one.connections(), 0U);
    EXPECT_EQ(two.connections(), 1U);
    hold(one);
    const auto held_one = begin(ClientRequest("GET", one.url));
    world.settle();
    const auto waits = begin(ClientRequest("GET", two.url));
    world.settle();
    EXPECT_EQ(client->pool()->waiting(), 1U);
    answer_next();
    EXPECT_EQ(*held_one, "200 x");
    EXPECT_EQ(*waits, "200 two");
}

TEST_F(ClientPoolTest, IdleConnectionsAreClosedInTime) {
    ClientTestServer server(world);
    server.say(ok("x"));
    make({.pool = {.idle = 10s}});
    get(server.url);
    world.advance(9s);
    EXPECT_EQ(client->pool()->idle(), 1U);
    get(server.url);
    world.advance(9s);
    EXPECT_EQ(client->pool()->idle(), 1U);
    world.advance(2s);
    EXPECT_EQ(client->pool()->connections(), 0U);
    EXPECT_EQ(server.connections(), 0U);
    get(server.url);
    server.sessions.connection->finish();  // the server's own end
    world.settle();
    EXPECT_EQ(client->pool()->connections(), 0U);
}

TEST_F(ClientPoolTest, ALimitOfTimeMayBeNever) {
    ClientTestServer server(world);
    server.say(ok("x"));
    make({.timeout = Duration::max(),
          .read_timeout = Duration::max(),
          .pool = {.idle = Duration::max(), .connect_timeout = Duration::max()}});
    EXPECT_EQ(get(server.url), "200 x");
    world.advance(24h);
    EXPECT_EQ(get(server.url), "200 x");
    EXPECT_EQ(server.opened(), 1);
}

TEST_F(ClientPoolTest, AWaiterThatIsWokenAndGoesWakesTheNext) {
    ClientTestServer server(world);
    hold(server);
    make({.timeout = 1h, .pool = {.connections_per_host_max = 1}});
    const auto first = begin(ClientRequest("GET", server.url));
    world.settle();
    bool gone = false;
    runner.spawn([](Client& client, std::string url, bool& gone) -> task::Task<> {
        auto answer = co_await task::within(5s, client.get(url));
        gone = !answer.has_value();
    }(*client, server.url, gone));
    const auto last = begin(ClientRequest("GET", server.url));
    world.settle();
    EXPECT_EQ(client->pool()->waiting(), 2U);
    // The answer and the deadline of the first waiter come in one turn.
    world.network().at(world.clock().now() + 5s, [&] { held.front()->write(ok("x")); });
    world.advance(6s);
    EXPECT_EQ(*first, "200 x");
    held.erase(held.begin());
    while (!held.empty()) answer_next();
    EXPECT_EQ(*last, "200 x");
}

TEST_F(ClientPoolTest, AClientThatEndsClosesItsConnections) {
    ClientTestServer server(world);
    server.say(ok("x"));
    get(server.url);
    EXPECT_EQ(server.connections(), 1U);
    client.reset();
    world.settle();
    EXPECT_EQ(server.connections(), 0U);
}

TEST_F(ClientPoolTest, ARunnerMayEndBeforeItsClients) {
    ClientTestServer server(world);
    server.say(ok("x"));
    Client outlives(nullptr, {.proxy_from_environment = false});
    {
        task::Runner short_lived(world.loop());
        bool done = false;
        short_lived.spawn([](Client& client, std::string url, bool& done) -> task::Task<> {
            const auto answer = co_await client.get(url);
            EXPECT_TRUE(answer);
            done = true;
        }(outlives, server.url, done));
        EXPECT_TRUE(world.run_until([&] { return done; }));
        EXPECT_EQ(outlives.pool()->idle(), 1U);
    }
    world.settle();
    EXPECT_EQ(outlives.pool()->connections(), 0U);
    EXPECT_EQ(server.connections(), 0U);
}

// A request that a kept connection failed does not take another kept one. Where all places of the
// server are such, one of them makes room.
TEST_F(ClientPoolTest, ARetryNeedsNoConnectionThatItWouldNotTake) {
    ClientTestServer server(world);
    server.say(ok("x"));
    make({.timeout = 1h, .pool = {.connections_per_host_max = 1, .idle = 2h}});
    EXPECT_EQ(get(server.url), "200 x");
    hold(server);
    const auto first = begin(ClientRequest("GET", server.url));
    const auto second = begin(ClientRequest("GET", server.url));
    world.settle();
    ASSERT_EQ(held.size(), 1U);
    std::exchange(held, {}).front()->close(net::CloseReason::aborted);
    world.settle();
    ASSERT_EQ(held.size(), 1U) << "one of them has a new connection";
    answer_next();
    ASSERT_EQ(held.size(), 1U) << "the other one, too";
    answer_next();
    EXPECT_EQ(*first, "200 x");
    EXPECT_EQ(*second, "200 x");
    EXPECT_EQ(client->pool()->connections(), 1U);
}

}  // namespace
}  // namespace tiderace::http
