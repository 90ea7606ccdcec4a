// The programs of docs/redis.md, on a real server.
#include <gtest/gtest.h>

#include "tests/documents/program.h"
#include "tiderace/db/redis/server_fixture.h"
#include "tiderace/redis.h"
#include "tiderace/task.h"

namespace documents {
namespace {

namespace db = tiderace::db;
namespace redis = tiderace::redis;
using tiderace::run;
using tiderace::Task;

class Redis : public db::redis::RedisTest {
  protected:
    template <typename T = std::string, typename... Words>
    T command(std::string name, Words... words) {
        const auto send = [](redis::Client client, std::string first, auto... rest) -> Task<T> {
            co_return co_await client.command<T>(first, rest...);
        };
        return run(send(redis::open(server->url()), name, words...));
    }
    std::string run_program(const std::string& name) {
        Program program(folder, "redis/" + name, {}, server->url());
        EXPECT_EQ(program.wait(), 0);
        return program.output();
    }

    tiderace::testing::TemporaryFolder folder;
};

TEST_F(Redis, CommandsAreAwaited) {
    command<std::int64_t>("ZADD", "top", 1, "heron");
    EXPECT_EQ(run_program("redis_and_valkey"), "hello 1 1\n");
    EXPECT_EQ(run_program("redis_and_valkey"), "hello 2 1\n");
}

TEST_F(Redis, SeveralCommandsLeaveTogether) {
    EXPECT_EQ(run_program("many_at_once"), "");
    EXPECT_EQ(command("GET", "visits"), "1");
    EXPECT_GT(command<std::int64_t>("TTL", "visits"), 0);
}

TEST_F(Redis, ATransactionOrders) {
    command("SET", "stock", 2);
    EXPECT_EQ(run_program("transactions_and_scripts"), "");
    EXPECT_EQ(command("GET", "stock"), "1");
    EXPECT_EQ(command("LINDEX", "orders", 0), "a book");
}

TEST_F(Redis, ASubscriptionPrintsWhatIsPublished) {
    Program program(folder, "redis/subscriptions", {}, server->url());
    while (command<std::int64_t>("PUBLISH", "news", "high tide") == 0) {
    }
    program.wait_for("news: high tide\n");
    command<std::int64_t>("PUBLISH", "room.7", "hello");
    program.wait_for("room.7: hello\n");
    program.end();  // it follows for ever
}

}  // namespace
}  // namespace documents
