// The behaviour of PostgreSQL alone.
#include "tiderace/db/postgres/connection.h"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tiderace/db/database_fixture.h"

namespace tiderace::db::postgres {
namespace {

class PostgresTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const std::string missing = Server::missing(Dialect::postgres);
        if (!missing.empty()) GTEST_SKIP() << missing;
        url = Server::shared(Dialect::postgres).fresh("postgres_test");
    }
    template <typename F>
    void with_database(F body, const Options& options = {}) {
        Database db = db::open(url, options);
        task::run(body(db));
    }

    std::string url;
};

TEST_F(PostgresTest, ItsOwnTypesAreRead) {
    with_database([](Database& db) -> Task<> {
        EXPECT_EQ(co_await db.one<bool>("select true"), true);
        EXPECT_EQ(co_await db.one<double>("select 'Infinity'::float8"), HUGE_VAL);
        EXPECT_EQ(co_await db.one<Time>("select '1970-01-01 01:00:01+01'::timestamptz"),
                  Time(std::chrono::seconds(1)));
        EXPECT_EQ(co_await db.one<std::string>("select '{\"a\": 1}'::jsonb ->> 'a'"), "1");
        EXPECT_EQ(co_await db.one<bool>("select '{\"a\": 1}'::jsonb ?? 'a'"), true);
        EXPECT_EQ(co_await fault_of(db.one<Time>("select 'infinity'::timestamptz")), Fault::row);
        EXPECT_EQ(co_await fault_of(db.exec("select ?::int", "seven")), Fault::parameters);
    });
}

TEST_F(PostgresTest, StatementsOfWhichThereAreTooManyAreForgottenThere) {
    Options options;
    options.statements_max = 3;
    options.connections_max = 1;
    with_database(
        [](Database& db) -> Task<> {
            for (int i = 0; i < 20; ++i) {
                EXPECT_EQ(co_await db.one<int>("select " + std::to_string(i % 7)), i % 7);
            }
            EXPECT_LE(*(co_await db.one<int>("select count(*)::int from pg_prepared_statements")),
                      3);
        },
        options);
}

// Outside of a transaction it is prepared anew (APreparedStatementFollowsItsTable).
TEST_F(PostgresTest, AnOutdatedStatementMayBeDoneAgainWithItsTransaction) {
    Options options;
    options.connections_max = 1;
    with_database(
        [](Database& db) -> Task<> {
            co_await db.exec("create table t (n int)");
            auto ask = [](Transaction& tx) -> Task<> { co_await tx.all<int>("select * from t"); };
            co_await db.transaction(ask);
            co_await db.exec("alter table t add column m int");
            EXPECT_EQ(co_await complaint_of(db.transaction(ask)),
                      "cached plan must not change result type");
            EXPECT_EQ(co_await fault_of(db.transaction(ask)), Fault::row);
        },
        options);
}

TEST_F(PostgresTest, AStatementThatCannotBePreparedLeavesTheConnection) {
    Options options;
    options.connections_max = 1;
    with_database(
        [](Database& db) -> Task<> {
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(co_await fault_of(db.exec("select nothing")), Fault::syntax);
            }
            EXPECT_EQ(co_await db.one<int>("select 7"), 7);
            EXPECT_EQ(db.counters().opened, 1U);
        },
        options);
}

TEST_F(PostgresTest, TwoThatWaitForEachOtherAreADeadlock) {
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create table t (n int primary key, m int)");
        co_await db.exec("insert into t values (1, 0), (2, 0)");
        Scope scope;
        int failures = 0;
        int half_done = 0;
        auto change = [&half_done](Database& base, int first, int second, int& failed) -> Task<> {
            auto body = [&](Transaction& tx) -> Task<> {
                co_await tx.exec("update t set m = m + 1 where n = ?", first);
                ++half_done;
                while (half_done < 2) co_await sleep(1ms);
                co_await tx.exec("update t set m = m + 1 where n = ?", second);
            };
            try {
                co_await base.transaction(body);
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), Fault::deadlock);
                ++failed;
            }
        };
        scope.spawn(change(db, 1, 2, failures));
        scope.spawn(change(db, 2, 1, failures));
        co_await scope.join();
        EXPECT_EQ(failures, 1);
    });
}

TEST_F(PostgresTest, SerializationFailuresAreDoneAgain) {
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create table t (n int)");
        co_await db.exec("insert into t values (0)");
        Scope scope;
        auto add = [](Database& base) -> Task<> {
            auto body = [](Transaction& tx) -> Task<> {
                const auto n = co_await tx.one<int>("select n from t");
                co_await tx.exec("update t set n = ?", *n + 1);
            };
            co_await base.transaction(body, {.attempts = 100, .serializable = true});
        };
        for (int i = 0; i < 10; ++i) scope.spawn(add(db));
        co_await scope.join();
        EXPECT_EQ(co_await db.one<int>("select n from t"), 10);
    });
}

// Stops a process for as long as it lives.
class Stopped {
  public:
    explicit Stopped(int pid) : pid_(pid) { ::kill(pid_, SIGSTOP); }
    ~Stopped() { go_on(); }
    Stopped(const Stopped&) = delete;
    Stopped& operator=(const Stopped&) = delete;
    void go_on() const { ::kill(pid_, SIGCONT); }

  private:
    int pid_;
};

TEST_F(PostgresTest, ACancelThatComesLateHitsNoLaterStatement) {
    Options options;
    options.connections_max = 1;
    options.statement_timeout = 2s;
    with_database(
        [](Database& db) -> Task<> {
            // The process that takes connections and cancels; the processes that run statements go
            // on.
            const auto first = co_await db.one<int>(
                "select split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int");
            const Stopped stopped(*first);
            EXPECT_EQ(co_await db.one<bool>("select pg_sleep(2.5) is null"), false);
            Scope scope;
            auto next = [](Database& base) -> Task<> {
                EXPECT_EQ(co_await base.one<bool>("select pg_sleep(0.5) is null"), false);
            };
            scope.spawn(next(db));
            stopped.go_on();  // the cancel of the statement before is done now
            co_await scope.join();
            EXPECT_EQ(db.counters().opened, 2U);
        },
        options);
}

// By a script, which is not looked into.
TEST_F(PostgresTest, NotificationsThatNobodyReadsAreDropped) {
    const auto body = [](const std::string& at) -> Task<> {
        Settings settings{Url::parse(at), Options()};
        Connection connection(*task::Context::here().runner, settings);
        const Instant until = Instant::max();
        co_await connection.open(until);
        co_await connection.script("listen posts", until);
        const QueryRef query = command("notify posts, 'lost'");
        const Portion portion{.rows_max = 1, .bytes_max = 1};
        for (int i = 0; i < 3; ++i) co_await connection.run(query, portion, until);
        // Past: what it has already, it gives all the same.
        EXPECT_EQ((co_await connection.notifications(Instant())).size(), 0U);
    };
    task::run(body(url));
}

TEST_F(PostgresTest, AStatementThatWasCancelledKeepsItsConnection) {
    Options options;
    options.connections_max = 1;
    options.statement_timeout = 100ms;
    with_database(
        [](Database& db) -> Task<> {
            for (int i = 0; i < 5; ++i) {
                EXPECT_EQ(co_await fault_of(db.one<bool>("select pg_sleep(30) is null")),
                          Fault::timeout);
                co_await db.ping();
            }
            EXPECT_EQ(db.counters().opened, 1U);
        },
        options);
}

TEST_F(PostgresTest, ADatabaseThatIsNotThereIsAMistakeOfTheUrl) {
    url = Server::shared(Dialect::postgres).url("nowhere");
    with_database([](Database& db) -> Task<> {
        EXPECT_EQ(co_await fault_of(db.ping()), Fault::configuration);
    });
}

TEST_F(PostgresTest, AnAnsweredScriptLeavesAUsableConnection) {
    Options options;
    options.connections_max = 1;
    with_database(
        [](Database& db) -> Task<> {
            co_await db.script("create table a (n int); create table b (n int);");
            EXPECT_EQ(co_await db.one<int>("select count(*)::int from a, b"), 0);
            EXPECT_EQ(co_await fault_of(db.script("create table c (n int); nonsense")),
                      Fault::syntax);
            EXPECT_EQ(co_await db.one<int>("select 7"), 7);
            EXPECT_EQ(db.counters().opened, 1U);
        },
        options);
}

TEST_F(PostgresTest, ACopyIsRefusedAndEndsNothingElse) {
    with_database([](Database& db) -> Task<> {
        co_await db.exec("create table t (n int)");
        for (const char* const sql : {"copy t to stdout", "copy t from stdin"}) {
            EXPECT_EQ(co_await fault_of(db.exec(sql)), Fault::syntax) << sql;
            EXPECT_EQ(co_await fault_of(db.all<int>(sql)), Fault::syntax) << sql;
            EXPECT_EQ(co_await fault_of(db.script(sql)), Fault::syntax) << sql;
        }
        EXPECT_EQ(co_await db.one<int>("select count(*)::int from t"), 0);
        EXPECT_EQ(db.counters().lent, 0U);
    });
}

// A server of one connection that answers each statement with this tag.
class TaggingServer {
  public:
    explicit TaggingServer(std::string tag)
        : tag_(std::move(tag)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address;
        ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), bytes);
        ::listen(listener_, 1);
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &bytes);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~TaggingServer() {
        ::shutdown(listener_, SHUT_RDWR);  // where nothing connected
        thread_.join();
        ::close(listener_);
    }
    TaggingServer(const TaggingServer&) = delete;
    TaggingServer& operator=(const TaggingServer&) = delete;
    std::string url() const { return "postgres://u@127.0.0.1:" + std::to_string(port_) + "/n"; }

  private:
    // Kind, length, content.
    static std::string message(char kind, const std::string& content) {
        const auto size = static_cast<std::uint32_t>(content.size() + 4);
        std::string bytes(1, kind);
        for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
        return bytes + content;
    }
    // The content behind its length; "": the client has gone.
    static std::string content_from(int fd) {
        unsigned char head[4];
        if (::recv(fd, head, 4, MSG_WAITALL) != 4) return "";
        std::string content((head[2] << 8 | head[3]) - 4, '\0');
        if (!content.empty()) (void)::recv(fd, content.data(), content.size(), MSG_WAITALL);
        return content;
    }
    void serve() {
        const int fd = ::accept(listener_, nullptr, nullptr);
        ::shutdown(listener_, SHUT_RDWR);  // a cancel would wait for ever
        content_from(fd);                  // the start
        std::string out = message('R', std::string(4, '\0')) + message('Z', "I");
        for (char kind = 'S'; kind != 'X';) {
            if (kind == 'S') {
                (void)::send(fd, out.data(), out.size(), MSG_NOSIGNAL);
                out.clear();
            }
            if (::recv(fd, &kind, 1, MSG_WAITALL) != 1) break;
            content_from(fd);
            if (kind == 'P') out += message('1', "");
            if (kind == 'B') out += message('2', "");
            if (kind == 'D') out += message('n', "");
            if (kind == 'E') out += message('C', tag_ + std::string(1, '\0'));
            if (kind == 'S') out += message('Z', "I");
        }
        ::close(fd);
    }

    std::string tag_;
    int listener_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

TEST(Postgres, ANumberOfRowsThatIsNoneIsNoRows) {
    for (const auto& [tag, rows] : std::vector<std::pair<std::string, std::uint64_t>>{
             {"DELETE 3", 3},
             {"DELETE 99999999999999999999999", 0},
             {"DELETE", 0},
             {"DELETE -1", 0},
             {"INSERT 0 18446744073709551615", UINT64_MAX}}) {
        TaggingServer server(tag);
        const auto body = [](Database db) -> Task<std::uint64_t> {
            co_return (co_await db.exec("delete from t")).rows;
        };
        EXPECT_EQ(task::run(body(db::open(server.url()))), rows) << tag;
    }
}

}  // namespace
}  // namespace tiderace::db::postgres
