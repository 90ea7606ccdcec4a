// A cluster of real servers: three masters, each with a replica.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/db/redis/server_fixture.h"

namespace tiderace::db::redis {
namespace {

constexpr std::size_t masters = 3;
constexpr std::size_t servers = 2 * masters;

struct RealCluster : public ::testing::Test {
    void SetUp() override {
        if (const auto why = RedisServer::missing(); !why.empty()) GTEST_SKIP() << why;
        for (auto& each : all) {
            each = std::make_unique<RedisServer>(
                std::vector<std::string>{"--cluster-node-timeout", "1500"},
                RedisServer::Network::cluster);
        }
        run(join_all());
    }
    // A client that knows this server alone.
    Client client_of(std::size_t server, const Options& options = {}) const {
        return open("redis://127.0.0.1:" + std::to_string(all[server]->port()), options);
    }
    // Its own commands, over its Unix socket: nothing is redirected there, for they have no key.
    Client shell_of(std::size_t server) const { return open(all[server]->url()); }

    static std::size_t owner_of(std::string_view key) {
        return slot_of(key) / (slots / masters + 1);
    }
    // A key of this master.
    static std::string key_of(std::size_t master, int number = 0) {
        for (int i = 0;; ++i) {
            const std::string key = "key" + std::to_string(i);
            if (owner_of(key) == master && number-- == 0) return key;
        }
    }

    Task<std::string> id_of(std::size_t server) const {
        const Client shell = shell_of(server);  // named, for g++ 12 (task.h)
        co_return co_await shell.command<std::string>("CLUSTER", "MYID");
    }
    Task<> join_all() const {
        co_await join_cluster(all, masters);
        for (std::size_t i = masters; i < servers; ++i) {
            const std::string master = co_await id_of(i - masters);
            const Client shell = shell_of(i);
            bool known = false;
            while (!known) {  // it learns of the others by gossip
                try {
                    co_await shell.command<void>("CLUSTER", "REPLICATE", master);
                    known = true;
                } catch (const Error&) {  // not yet
                }
                co_await sleep(20ms);
            }
        }
        for (std::size_t i = 0; i < servers; ++i) {
            co_await until_info_has(*all[i], "CLUSTER", "cluster_state:ok");
            if (i >= masters)
                co_await until_info_has(*all[i], "replication", "master_link_status:up");
        }
    }

    std::array<std::unique_ptr<RedisServer>, servers> all;
};

TEST_F(RealCluster, MovedKeysAreFoundAndTheTableOfSlotsIsLearnt) {
    run([](Client redis) -> Task<> {
        for (int round = 0; round < 2; ++round) {
            for (int i = 0; i < 100; ++i) {
                const std::string key = "k" + std::to_string(i);
                co_await redis.set(key, std::to_string(i));
                const auto value = co_await redis.get(key);
                EXPECT_EQ(value, std::to_string(i));
            }
        }
        EXPECT_EQ(redis.counters().nodes, masters)
            << "the URL and the table name the first server by one address";
        const auto learnt = redis.counters().redirected;
        EXPECT_GE(learnt, 1U);
        EXPECT_LT(learnt, 20U) << "of 400 commands, two thirds of which are for other servers";
        auto batch = redis.pipeline();
        for (int i = 0; i < 100; ++i) batch.add("GET", "k" + std::to_string(i));
        const auto replies = co_await batch.run();
        for (std::size_t i = 0; i < replies.size(); ++i) {
            EXPECT_EQ(replies[i].view().text(), std::to_string(i));
        }
        auto tx = co_await redis.transaction("k7");
        tx.queue("INCR", "k7");
        const auto done = co_await tx.exec();
        EXPECT_TRUE(done.has_value());
        EXPECT_EQ(redis.counters().redirected, learnt);
    }(client_of(0)));
}

TEST_F(RealCluster, AskIsFollowedWhileASlotMoves) {
    const std::string key = key_of(0);
    run([](RealCluster& cluster, Client redis, std::string moving) -> Task<> {
        const std::string slot = std::to_string(slot_of(moving));
        co_await redis.set(moving, "before");
        const std::string from = co_await cluster.id_of(0);
        const std::string to = co_await cluster.id_of(1);
        const Client old_owner = cluster.shell_of(0);
        const Client new_owner = cluster.shell_of(1);
        co_await new_owner.command<void>("CLUSTER", "SETSLOT", slot, "IMPORTING", from);
        co_await old_owner.command<void>("CLUSTER", "SETSLOT", slot, "MIGRATING", to);
        const auto still = co_await redis.get(moving);
        EXPECT_EQ(still, "before");
        EXPECT_EQ(redis.counters().redirected, 0U) << "it has not moved yet";
        co_await old_owner.command<void>("MIGRATE", "127.0.0.1", cluster.all[1]->port(), moving, 0,
                                         5'000);
        for (std::uint64_t asked = 1; asked <= 3; ++asked) {
            const auto moved = co_await redis.get(moving);
            EXPECT_EQ(moved, "before");
            EXPECT_EQ(redis.counters().redirected, asked) << "ASK is for one command";
        }
        co_await redis.set(moving, "after");
        for (const Client& owner : {new_owner, old_owner}) {
            co_await owner.command<void>("CLUSTER", "SETSLOT", slot, "NODE", to);
        }
        const auto after = co_await redis.get(moving);
        EXPECT_EQ(after, "after");
        const auto redirected = redis.counters().redirected;
        const auto again = co_await redis.get(moving);
        EXPECT_EQ(again, "after");
        EXPECT_EQ(redis.counters().redirected, redirected) << "MOVED is kept";
    }(*this, client_of(0), key));
}

TEST_F(RealCluster, AReplicaTakesThePlaceOfAMasterThatDied) {
    Options options;
    options.waiting_timeout = 1s;
    options.connect_timeout = 1s;
    run([](RealCluster& cluster, Client redis) -> Task<> {
        const std::string dead = key_of(0);
        const std::string alive = key_of(1);
        co_await redis.set(dead, "kept");
        co_await redis.set(alive, "1");
        // SET does not wait for the replica.
        const Client replica = cluster.shell_of(masters);
        bool replicated = false;
        while (!replicated) {
            const auto keys = co_await replica.command<std::int64_t>("DBSIZE");
            replicated = keys >= 1;
        }
        cluster.all[0]->kill();
        std::string value;
        while (value.empty()) {
            try {
                const auto got = co_await redis.get(dead);
                value = got.value_or("lost");
            } catch (const Error& error) {
                EXPECT_TRUE(error.kind() == Fault::connection_lost || error.kind() == Fault::busy)
                    << error.what();
            }
            if (value.empty()) co_await sleep(50ms);
        }
        EXPECT_EQ(value, "kept");
        co_await redis.set(dead, "changed");
        const auto changed = co_await redis.get(dead);
        EXPECT_EQ(changed, "changed");
        co_await until_info_has(*cluster.all[masters], "replication", "role:master");
        const auto other = co_await redis.get(alive);
        EXPECT_EQ(other, "1");
        EXPECT_EQ(redis.counters().commands, 0U);
    }(*this, client_of(0, options)));
}

TEST_F(RealCluster, WithoutAReplicaTheErrorSaysThatTheClusterIsDown) {
    Options options;
    options.waiting_timeout = 500ms;
    options.connect_timeout = 500ms;
    run([](RealCluster& cluster, Client redis) -> Task<> {
        const std::string dead = key_of(2);
        co_await redis.set(dead, "1");
        cluster.all[2 + masters]->kill();
        cluster.all[2]->kill();
        std::string words;
        while (words.find("CLUSTERDOWN") == words.npos) {
            try {
                co_await redis.set(dead, "2");
                ADD_FAILURE() << "the master is dead";
                break;
            } catch (const Error& error) {
                words = error.what();
                const Fault kind = error.kind();
                EXPECT_TRUE(kind == Fault::connection_lost || kind == Fault::busy ||
                            kind == Fault::unknown_outcome)
                    << words;
            }
            co_await sleep(50ms);
        }
        cluster.all[2]->start();
        std::string value;
        while (value.empty()) {
            try {
                const auto got = co_await redis.get(dead);
                value = got.value_or("empty: nothing was on its disk");
            } catch (const Error&) {  // not yet
            }
            co_await sleep(50ms);
        }
        EXPECT_EQ(redis.counters().commands, 0U);
    }(*this, client_of(0, options)));
}

}  // namespace
}  // namespace tiderace::db::redis
