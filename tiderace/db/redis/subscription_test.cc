#include "tiderace/db/redis/subscription.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tiderace/db/redis/server_fixture.h"

namespace tiderace::db::redis {
namespace {

using SubscriptionTest = RedisTest;

TEST_F(SubscriptionTest, MessagesOfChannelsAndPatternsCome) {
    run([](Client redis) -> Task<> {
        auto messages = subscribe(redis, {.channels = {"news"}, .patterns = {"room.*"}});
        const auto first = co_await messages.next();
        EXPECT_TRUE(first->restarted);
        EXPECT_EQ(co_await redis.publish("news", "one"), 1);
        EXPECT_EQ(co_await redis.publish("room.7", "two"), 1);
        EXPECT_EQ(co_await redis.publish("other", "three"), 0);
        const auto one = co_await messages.next();
        EXPECT_EQ(one->channel, "news");
        EXPECT_EQ(one->payload, "one");
        EXPECT_EQ(one->pattern, "");
        EXPECT_FALSE(one->restarted);
        const auto two = co_await messages.next();
        EXPECT_EQ(two->channel, "room.7");
        EXPECT_EQ(two->payload, "two");
        EXPECT_EQ(two->pattern, "room.*");
    }(open(server->url())));
}

TEST_F(SubscriptionTest, OfASlowReaderTheOldestAreDroppedAndCounted) {
    Options options;
    options.messages_max = 10;
    run([](Client redis) -> Task<> {
        auto messages = subscribe(redis, {.channels = {"news"}});
        (void)co_await messages.next();
        for (int i = 0; i < 100; ++i) co_await redis.publish("news", std::to_string(i));
        std::uint64_t missed = 0;
        std::uint64_t read = 0;
        std::string last;
        while (last != "99") {
            const auto message = co_await messages.next();
            missed += message->missed;
            last = message->payload;
            ++read;
        }
        EXPECT_EQ(missed + read, 100U);
        EXPECT_GE(missed, 1U);
    }(open(server->url(), options)));
}

TEST_F(SubscriptionTest, ALostConnectionIsMadeAgainAndSaid) {
    run([](RedisServer& real, Client redis) -> Task<> {
        auto messages = subscribe(redis, {.channels = {"news"}});
        (void)co_await messages.next();
        for (int round = 0; round < 2; ++round) {
            real.kill();
            real.start();
            const auto again = co_await messages.next();
            EXPECT_TRUE(again->restarted);
            EXPECT_EQ(co_await redis.publish("news", "back"), 1);
            const auto back = co_await messages.next();
            EXPECT_EQ(back->payload, "back");
        }
    }(*server, open(server->url())));
}

TEST_F(SubscriptionTest, OneThatIsLeftEndsOnTheServer) {
    run([](Client redis) -> Task<> {
        {
            auto messages = subscribe(redis, {.channels = {"news"}});
            (void)co_await messages.next();
            auto waiting = messages.next();
            EXPECT_FALSE((co_await within(20ms, std::move(waiting))).has_value());
        }
        while (co_await redis.publish("news", "x") != 0) co_await sleep(1ms);
    }(open(server->url())));
}

TEST_F(SubscriptionTest, OneThatIsKeptBeyondItsLoopHasEnded) {
    task::Generator<Message> kept;
    const Client redis = open(server->url());
    run([](Client client, task::Generator<Message>& out) -> Task<> {
        Channels channels;
        channels.channels = {"news"};
        out = subscribe(client, channels);
        EXPECT_TRUE((co_await out.next())->restarted);
        // It waits for a message when the loop ends.
        EXPECT_FALSE(co_await within(10ms, [](task::Generator<Message>& from) -> Task<bool> {
            co_return (co_await from.next()).has_value();
        }(out)));
    }(redis, kept));
    run([](task::Generator<Message>& ended) -> Task<> {
        EXPECT_FALSE((co_await ended.next()).has_value());
    }(kept));
}

TEST_F(SubscriptionTest, WithoutChannelsItIsAnError) {
    run([](Client redis) -> Task<> {
        auto messages = subscribe(redis, {});
        bool failed = false;
        try {
            (void)co_await messages.next();
        } catch (const Error& error) {
            failed = error.kind() == Fault::configuration;
        }
        EXPECT_TRUE(failed);
    }(open(server->url())));
}

ScriptedServer::Answer confirmed() {
    return {.bytes = ">3\r\n" + bulk("subscribe") + bulk("news") + ":1\r\n"};
}

TEST(Subscription, OneWhoseServerIsSilentIsBegunAnew) {
    std::atomic<int> pings = 0;
    ScriptedServer silent([&](const ScriptedServer::Words& words) -> ScriptedServer::Answer {
        if (words[0] == "SUBSCRIBE") return confirmed();
        ++pings;
        return {};
    });
    Options options;
    options.silence_max = 50ms;
    run([](Client redis) -> Task<> {
        auto messages = subscribe(redis, {.channels = {"news"}});
        for (int i = 0; i < 3; ++i) {
            const auto next = co_await within(30s, messages.next());
            EXPECT_TRUE(next && *next && (*next)->restarted);
        }
    }(open(silent.url(), options)));
    EXPECT_GE(silent.connections(), 3);
    EXPECT_GE(pings, 2);
}

TEST(Subscription, OneWhoseServerAnswersPingsGoesOn) {
    std::atomic<int> pings = 0;
    ScriptedServer quiet([&](const ScriptedServer::Words& words) -> ScriptedServer::Answer {
        if (words[0] == "SUBSCRIBE") return confirmed();
        if (++pings < 2) return {.bytes = "+PONG\r\n"};
        return {.bytes = ">3\r\n" + bulk("message") + bulk("news") + bulk("hello")};
    });
    Options options;
    options.silence_max = 1s;
    run([](Client redis) -> Task<> {
        auto messages = subscribe(redis, {.channels = {"news"}});
        EXPECT_TRUE((co_await messages.next())->restarted);
        const auto next = co_await within(60s, messages.next());
        EXPECT_TRUE(next && *next && (*next)->payload == "hello");
    }(open(quiet.url(), options)));
    EXPECT_EQ(quiet.connections(), 1);
}

// As an old server, whose messages are arrays.
TEST(Subscription, InRespTwoMessagesAreArrays) {
    ScriptedServer old(
        [](const ScriptedServer::Words& words) -> ScriptedServer::Answer {
            if (words[0] == "HELLO") return {.bytes = "-ERR unknown command `HELLO`\r\n"};
            return {.bytes = "*3\r\n" + bulk("subscribe") + bulk("news") + ":1\r\n*3\r\n" +
                             bulk("message") + bulk("news") + bulk("hello")};
        },
        true);
    run([](Client redis) -> Task<> {
        auto messages = subscribe(redis, {.channels = {"news"}});
        EXPECT_TRUE((co_await messages.next())->restarted);
        EXPECT_EQ((co_await messages.next())->payload, "hello");
    }(open(old.url())));
}

}  // namespace
}  // namespace tiderace::db::redis
