// Redirections of a cluster, by servers that answer as a test says.
#include <gtest/gtest.h>

#include <map>

#include "tiderace/db/redis/server_fixture.h"

namespace tiderace::db::redis {
namespace {

using Answer = ScriptedServer::Answer;
using Words = ScriptedServer::Words;

std::string moved(std::string_view key, const std::string& address) {
    return "-MOVED " + std::to_string(slot_of(key)) + " " + address + "\r\n";
}

TEST(Cluster, AMovedKeyIsAskedForWhereItIsFromThenOn) {
    int first_asked = 0;
    ScriptedServer second([](const Words& words) -> Answer {
        if (words[0] == "CLUSTER") return {.bytes = "-ERR unknown command\r\n"};
        return {.bytes = bulk("of the second")};
    });
    ScriptedServer first([&](const Words& words) -> Answer {
        ++first_asked;
        return {.bytes = words[1] == "foo" ? moved("foo", second.address()) : bulk("of the first")};
    });
    run([](Client redis, int& asked) -> Task<> {
        EXPECT_EQ(co_await redis.get("foo"), "of the second");
        EXPECT_EQ(asked, 1);
        EXPECT_EQ(co_await redis.get("foo"), "of the second");
        EXPECT_EQ(co_await redis.get("{foo}bar"), "of the second");
        EXPECT_EQ(asked, 1) << "the slot is known";
        EXPECT_EQ(co_await redis.get("other"), "of the first");
        EXPECT_EQ(redis.counters().redirected, 1U);
        EXPECT_EQ(redis.counters().nodes, 2U);
    }(open(first.url()), first_asked));
}

TEST(Cluster, AskIsForOneCommandAndIsAnnounced) {
    std::vector<std::string> seen;
    ScriptedServer second([&](const Words& words) -> Answer {
        seen.push_back(words[0]);
        return {.bytes = words[0] == "ASKING" ? "+OK\r\n" : bulk("moving")};
    });
    int first_asked = 0;
    ScriptedServer first([&](const Words&) -> Answer {
        ++first_asked;
        return {.bytes =
                    "-ASK " + std::to_string(slot_of("foo")) + " " + second.address() + "\r\n"};
    });
    run([](Client redis) -> Task<> {
        EXPECT_EQ(co_await redis.get("foo"), "moving");
        EXPECT_EQ(co_await redis.get("foo"), "moving");
    }(open(first.url())));
    EXPECT_EQ(first_asked, 2) << "the slot stays where it is";
    EXPECT_EQ(seen, (std::vector<std::string>{"ASKING", "GET", "ASKING", "GET"}));
}

TEST(Cluster, TheTableOfSlotsIsLearntWithTheFirstRedirection) {
    std::map<std::string, int> asked;
    std::uint16_t second_port = 0;
    ScriptedServer second([&](const Words& words) -> Answer {
        ++asked["second " + words[0]];
        if (words[0] != "CLUSTER") return {.bytes = bulk("second")};
        return {.bytes = "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + bulk("127.0.0.1") + ":" +
                         std::to_string(second_port) + "\r\n"};
    });
    second_port = second.port();
    ScriptedServer first([&](const Words& words) -> Answer {
        ++asked["first"];
        return {.bytes = moved(words[1], second.address())};
    });
    run([](Client redis, std::map<std::string, int>& counts) -> Task<> {
        EXPECT_EQ(co_await redis.get("a"), "second");
        while (!counts.contains("second CLUSTER")) co_await sleep(1ms);
        co_await redis.get("a");  // behind the table, on the same connection
        for (const char* key : {"b", "c", "d", "e"}) {
            EXPECT_EQ(co_await redis.get(key), "second");
        }
        EXPECT_EQ(counts["first"], 1);
    }(open(first.url()), asked));
}

TEST(Cluster, ServersThatSendEachOtherTheCommandEndIt) {
    std::string first_address;
    ScriptedServer second([&](const Words& words) -> Answer {
        if (words[0] == "CLUSTER") return {.bytes = "-ERR no\r\n"};
        return {.bytes = moved("a", first_address)};
    });
    ScriptedServer first([&](const Words& words) -> Answer {
        if (words[0] == "CLUSTER") return {.bytes = "-ERR no\r\n"};
        return {.bytes = moved("a", second.address())};
    });
    first_address = first.address();
    run([](Client redis) -> Task<> {
        EXPECT_EQ(co_await fault_of(redis.get("a")), Fault::busy);
        EXPECT_EQ(redis.counters().commands, 0U);
    }(open(first.url())));
}

TEST(Cluster, OfTooManyServersTheCommandFails) {
    ScriptedServer first(
        [](const Words&) -> Answer { return {.bytes = moved("a", "192.0.2.1:6379")}; });
    Options options;
    options.nodes_max = 1;
    run([](Client redis) -> Task<> {
        EXPECT_EQ(co_await fault_of(redis.get("a")), Fault::configuration);
    }(open(first.url(), options)));
}

TEST(Cluster, APipelineGoesToSeveralServersAndComesBackInOrder) {
    ScriptedServer second([](const Words& words) -> Answer {
        if (words[0] == "CLUSTER") return {.bytes = "-ERR no\r\n"};
        return {.bytes = bulk("2" + words[1])};
    });
    ScriptedServer first([&](const Words& words) -> Answer {
        if (slot_of(words[1]) % 2 == 0) return {.bytes = moved(words[1], second.address())};
        return {.bytes = bulk("1" + words[1])};
    });
    run([](Client redis) -> Task<> {
        for (int round = 0; round < 2; ++round) {
            auto batch = redis.pipeline();
            for (int i = 0; i < 50; ++i) batch.add("GET", std::to_string(i));
            const auto replies = co_await batch.run();
            for (int i = 0; i < 50; ++i) {
                const std::string key = std::to_string(i);
                const std::string from = slot_of(key) % 2 == 0 ? "2" : "1";
                EXPECT_EQ(replies[static_cast<std::size_t>(i)].view().text(), from + key);
            }
        }
    }(open(first.url())));
}

TEST(Cluster, AnErrorThatOnlyLooksLikeARedirectionIsAnError) {
    ScriptedServer first(
        [](const Words& words) -> Answer { return {.bytes = "-MOVED " + words[1] + "\r\n"}; });
    run([](Client redis) -> Task<> {
        for (const char* text : {"x", "99999 a:1", "1", "1 nowhere"}) {
            EXPECT_EQ(co_await fault_of(redis.get(text)), Fault::other) << text;
        }
    }(open(first.url())));
}

}  // namespace
}  // namespace tiderace::db::redis
