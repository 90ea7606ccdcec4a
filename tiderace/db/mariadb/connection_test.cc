// The behaviour of MariaDB alone.
#include "tiderace/db/mariadb/connection.h"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "tiderace/db/database_fixture.h"
#include "tiderace/db/pool_calls.h"

namespace tiderace::db::mariadb {
namespace {

class MariadbTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const std::string missing = Server::missing(Dialect::mariadb);
        if (!missing.empty()) GTEST_SKIP() << missing;
        url = Server::shared(Dialect::mariadb).fresh("mariadb_test");
    }
    template <typename F>
    void with_database(F body, const Options& options = {}) {
        Database db = db::open(url, options);
        task::run(body(db));
    }

    std::string url;
};

TEST_F(MariadbTest, ItsOwnTypesAreRead) {
    with_database([](Database& db) -> Task<> {
        EXPECT_EQ(co_await db.one<std::uint64_t>("select 18446744073709551615"), UINT64_MAX);
        EXPECT_EQ(co_await db.one<Decimal>("select cast('1.50' as decimal(10,2))"),
                  Decimal("1.50"));
        EXPECT_EQ(co_await db.one<Time>("select cast('1970-01-01 00:00:01.5' as datetime(6))"),
                  Time(std::chrono::milliseconds(1'500)));
        EXPECT_EQ(co_await db.one<std::string>("select cast('10:30:00' as time)"), "10:30:00");
        const auto null = co_await db.one<std::optional<int>>("select null");
        EXPECT_TRUE(null.has_value() && !null->has_value());
        const std::string large(3'000'000, 'x');
        EXPECT_EQ(co_await db.one<std::string>("select repeat('x', 3000000)"), large);
    });
}

TEST_F(MariadbTest, StatementsOfWhichThereAreTooManyAreForgotten) {
    Options options;
    options.statements_max = 3;
    options.connections_max = 1;
    with_database(
        [](Database& db) -> Task<> {
            for (int i = 0; i < 20; ++i) {
                EXPECT_EQ(co_await db.one<int>("select " + std::to_string(i % 7)), i % 7);
            }
            EXPECT_EQ(db.counters().opened, 1U);
        },
        options);
}

TEST_F(MariadbTest, AKillThatComesLateHitsNoLaterStatement) {
    Options options;
    options.connections_max = 1;
    options.statement_timeout = 1s;
    // Without the right to skip what each new connection does first.
    const std::string account = "mariadb://slow@/" + url.substr(url.rfind('/', url.find('?')) + 1);
    with_database([&](Database& root) -> Task<> {
        co_await root.exec("create or replace user slow@localhost");
        co_await root.exec("grant all on *.* to slow@localhost");
        co_await root.exec("revoke super, connection admin on *.* from slow@localhost");
        Database db = db::open(account, options);
        co_await db.ping();
        // The connection for the kill needs longer than we wait for it.
        co_await root.exec("set global init_connect = 'do sleep(3)'");
        EXPECT_EQ(co_await fault_of(db.one<int>("select sleep(1.2)")), Fault::timeout);
        co_await root.exec("set global init_connect = ''");
        const auto begun = co_await db.one<std::int64_t>("select connection_id()");
        for (int i = 0; i < 4; ++i) {
            EXPECT_EQ(co_await db.one<int>("select sleep(0.5)"), 0) << "1: it was killed";
        }
        EXPECT_TRUE(begun.has_value());
        EXPECT_EQ(db.counters().opened, 2U);
    });
}

TEST_F(MariadbTest, ASerializableTransactionThatDidNotBeginLeavesNothingToTheNext) {
    Options options;
    options.connections_max = 1;
    with_database(
        [&](Database& db) -> Task<> {
            co_await db.exec("create table t (n int primary key)");
            co_await db.exec("insert into t values (1)");
            Database root = db::open(url);
            // The rows that a serializable one has read are locked, so that others wait.
            const auto locks = [&](Transaction& tx) -> Task<bool> {
                co_await tx.one<int>("select n from t");
                bool locked = false;
                try {
                    co_await root.one<int>("select n from t for update nowait");
                } catch (const Error&) {
                    locked = true;
                }
                co_return locked;
            };
            const auto fails = [](Transaction&) -> Task<> {
                co_await task::yield();
                throw Error(Fault::other, "on purpose");
            };
            // From here on the connection knows the statement that rolls back.
            EXPECT_EQ(co_await fault_of(db.transaction(fails)), Fault::other);
            const auto known = co_await root.one<std::string>(
                "select variable_value from information_schema.global_status"
                " where variable_name = 'prepared_stmt_count'");
            // The server takes one more statement, which sets the isolation, and not the next.
            co_await root.script("set global max_prepared_stmt_count = " +
                                 std::to_string(std::stoi(*known) + 1));
            const auto fault = co_await fault_of(
                db.transaction(fails, {.reads_only = true, .serializable = true}));
            co_await root.script("set global max_prepared_stmt_count = 16382");
            EXPECT_EQ(fault, Fault::other);
            EXPECT_FALSE(co_await db.transaction(locks));
            EXPECT_TRUE(co_await db.transaction(locks, {.serializable = true}));
            EXPECT_FALSE(co_await db.transaction(locks));
            EXPECT_EQ(db.counters().opened, 1U);
        },
        options);
}

TEST_F(MariadbTest, AnErrorBehindTheFirstRowsHasItsWords) {
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create table t (n int primary key)");
        co_await db.exec("insert into t select seq from seq_1_to_5000");
        const std::string sql =
            "select (select 1 union select if(n < 4000, 1, 2)) from t order by n";
        EXPECT_EQ(co_await complaint_of(db.all<int>(sql)), "Subquery returns more than 1 row");
        EXPECT_EQ(co_await db.one<int>("select 7"), 7);
        EXPECT_EQ(db.counters().opened, 1U);
    });
}

TEST_F(MariadbTest, AStatementThatReportsItsKillKeepsItsConnection) {
    Options options;
    options.connections_max = 1;
    options.statement_timeout = 300ms;
    with_database(
        [](Database& db) -> Task<> {
            co_await db.exec("create table t (n int)");
            co_await db.exec("insert into t select seq from seq_1_to_3000");
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(co_await fault_of(db.one<std::int64_t>(
                              "select count(*) from t a, t b, t c where a.n + b.n > c.n")),
                          Fault::timeout);
                co_await db.ping();
            }
            EXPECT_EQ(db.counters().opened, 1U);
        },
        options);
}

TEST_F(MariadbTest, ACommitThatWasKilledHasAnUnknownOutcome) {
    Options options;
    options.statement_timeout = 500ms;
    with_database(
        [&](Database& db) -> Task<> {
            co_await db.exec("create table t (n int primary key)");
            Database other = db::open(url);
            auto holding = other.transaction([&](Transaction& lock) -> Task<> {
                auto body = [&](Transaction& tx) -> Task<> {
                    co_await tx.exec("insert into t values (1)");
                    co_await lock.exec("flush tables with read lock");
                };
                EXPECT_EQ(co_await fault_of(db.transaction(body)), Fault::unknown_outcome);
                co_await lock.exec("unlock tables");
            });
            co_await std::move(holding);
            EXPECT_LE(*(co_await db.one<int>("select count(*) from t")), 1);
        },
        options);
}

// The server says "Failed to read auto-increment value", for a lock of the numbers takes part.
TEST_F(MariadbTest, ADeadlockOfNumbersIsDoneAgain) {
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create table source (n int primary key)");
        co_await db.exec("insert into source values (1), (2), (3)");
        co_await db.exec("create table t (id int auto_increment primary key, n int)");
        Scope scope;
        auto copy = [](Database base) -> Task<> {
            co_await base.exec("insert into t (n) select n from source order by n");
        };
        int attempts = 0;
        auto body = [&](Transaction& tx) -> Task<> {
            co_await tx.one<int>("select n from source where n = 3 for update");
            if (++attempts == 1) {
                scope.spawn(copy(db));  // has the numbers' lock, and waits for the third row
                std::int64_t waiting = 0;
                while (waiting == 0) {
                    co_await sleep(20ms);
                    waiting = *co_await db.one<std::int64_t>(
                        "select count(*) from information_schema.innodb_lock_waits");
                }
            }
            co_await tx.exec("insert into t (n) select n + 4 from source where n = 3");
        };
        co_await db.transaction(body, {.attempts = 3});
        co_await scope.join();
        EXPECT_EQ(attempts, 2);
        EXPECT_EQ(co_await db.one<std::string>("select group_concat(n order by n) from t"),
                  "1,2,3,7");
    });
}

TEST_F(MariadbTest, AProcedureGivesItsFirstResultAndHoldsNoLoop) {
    Options options;
    options.connections_max = 1;
    with_database(
        [](Database& db) -> Task<> {
            co_await db.script(
                "create procedure several() begin select 1; do sleep(1); select 2, 3 union all "
                "select 4, 5; select 6; end");
            co_await db.script(
                "create procedure failing() begin select 1; select 2; insert into nowhere values "
                "(1); end");
            co_await db.script("create procedure giving(out n int) begin set n = 7; end");
            for (int i = 0; i < 3; ++i) {
                Scope scope;
                bool ended = false;
                auto call = [](Database& base, bool& over) -> Task<> {
                    const auto rows = co_await base.all<int>("call several()");
                    EXPECT_EQ(rows, std::vector<int>{1});
                    over = true;
                };
                scope.spawn(call(db, ended));
                int turns = 0;
                while (!ended) {
                    co_await sleep(10ms);
                    ++turns;
                }
                co_await scope.join();
                EXPECT_GT(turns, 2) << "a blocked loop would have slept once";
                co_await db.exec("call several()");
                EXPECT_EQ(co_await db.one<int>("select 8"), 8);
                EXPECT_EQ(co_await fault_of(db.all<int>("call failing()")), Fault::syntax);
                EXPECT_EQ(co_await db.one<int>("select 9"), 9);
                EXPECT_EQ(co_await db.one<int>("call giving(?)", 1), 7);
                EXPECT_EQ(co_await db.one<int>("select 10"), 10);
            }
            EXPECT_EQ(db.counters().opened, 1U);
        },
        options);
}

TEST_F(MariadbTest, WhatIsLargerThanThePacketsOfTheServerCostsNothing) {
    with_database([&](Database& root) -> Task<> {
        const auto usual = co_await root.one<std::int64_t>("select @@global.max_allowed_packet");
        co_await root.exec("set global max_allowed_packet = 1048576");
        Options options;
        options.connections_max = 1;
        Database db = db::open(url, options);
        co_await db.exec("create table t (b longblob)");
        const Blob large(std::string(1'500'000, 'x'));
        const Blob fits(std::string(1'000'000, 'x'));
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(co_await fault_of(db.exec("insert into t values (?)", large)),
                      Fault::parameters);
            co_await db.exec("insert into t values (?)", fits);
            EXPECT_EQ(co_await fault_of(db.script("do '" + large.bytes() + "'")),
                      Fault::parameters);
        }
        EXPECT_EQ(co_await db.one<int>("select count(*) from t"), 2);
        EXPECT_EQ(db.counters().opened, 1U);
        co_await root.exec("set global max_allowed_packet = " + std::to_string(*usual));
    });
}

// The server does what stands in such a comment.
TEST_F(MariadbTest, AQuestionMarkThatOnlyTheServerSeesIsAnError) {
    with_database([](Database& db) -> Task<> {
        EXPECT_EQ(co_await complaint_of(db.one<int>("select ? /*! + ? */", 1)),
                  "the server counts 2 question marks, and there are 1 values");
        EXPECT_EQ(co_await db.one<int>("select ? /*! + 6 */", 1), 7);
    });
}

// Or any server could have any file that this program may read.
TEST_F(MariadbTest, NoServerGetsAFileOfOurs) {
    const Folder folder;
    const std::string file = folder.file("secret");
    std::ofstream(file) << "7\n";
    with_database([&](Database& db) -> Task<> {
        co_await db.script("create table t (n int); set global local_infile = 1");
        const std::string sql = "load data local infile '" + file + "' into table t";
        co_await fault_of(db.exec(sql));
        co_await fault_of(db.script(sql));
        EXPECT_EQ(co_await db.one<int>("select count(*) from t"), 0);
    });
}

// A server that takes connections and says nothing.
class MuteServer {
  public:
    MuteServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address;
        ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), bytes);
        ::listen(listener_, 16);
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &bytes);
        port_ = ntohs(address.sin_port);
    }
    ~MuteServer() {
        ::close(listener_);
        for (const int each : peers_) ::close(each);
    }
    MuteServer(const MuteServer&) = delete;
    MuteServer& operator=(const MuteServer&) = delete;

    // By name, so that a thread opens the connection.
    std::string url() const {
        return "mariadb://ada:word@localhost:" + std::to_string(port_) + "/n?tls=verify";
    }
    std::size_t connections() {
        for (int peer = 0; (peer = ::accept(listener_, nullptr, nullptr)) >= 0;) {
            peers_.push_back(peer);
        }
        return peers_.size();
    }

  private:
    int listener_;
    std::uint16_t port_ = 0;
    std::vector<int> peers_;
};

TEST_F(MariadbTest, AServerThatDoesNotAnswerHoldsNoThreadOfThePool) {
    MuteServer server;
    Options options;
    options.connect_timeout = 1h;
    options.waiting_timeout = 1h;
    const auto body = [](Database db, MuteServer& mute) -> Task<> {
        Scope scope;
        const auto ask = [](Database base) -> Task<> { co_await base.ping(); };
        for (int i = 0; i < 4; ++i) scope.spawn(ask(db));
        while (mute.connections() < PoolCalls::calls_max) co_await sleep(1ms);
        EXPECT_EQ(task::Context::here().runner->pool()->counters().running, 0U);
        scope.cancel();
    };
    task::run(body(db::open(server.url(), options), server));
}

TEST_F(MariadbTest, ADatabaseThatIsNotThereIsAMistakeOfTheUrl) {
    url = Server::shared(Dialect::mariadb).url("nowhere");
    with_database([](Database& db) -> Task<> {
        EXPECT_EQ(co_await fault_of(db.ping()), Fault::configuration);
    });
}

}  // namespace
}  // namespace tiderace::db::mariadb
