// MariaDB and MySQL as a Connection: Connector/C's calls that begin, wait and go on.
//
//   …_start() -> waits for the socket -> …_cont() -> … -> done
//
// A call that was begun stands on a stack of its own inside the library until it is done; nothing
// else may be sent on the connection before. So a task that is destroyed within one costs its
// connection: recover() has the server end the statement, and the pool opens another.
//
// Owner, thread, errors: ../connection.h. A second connection to the server ends a statement, made
// on a thread of its own (pool_calls.h). A connection whose certificate is verified for a name is
// opened on a thread of the pool, because the library looks the name up itself.
//
// A kill that finds no statement hits the next one, so a connection is kept only when the statement
// has reported its kill.
// Keywords: MariaDB, MySQL, prepared statements
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "tiderace/db/connection.h"
#include "tiderace/db/pool.h"
#include "tiderace/db/pool_calls.h"
#include "tiderace/db/readiness.h"
#include "tiderace/task/runner.h"

struct st_mysql;
struct st_mysql_stmt;

namespace tiderace::db::mariadb {

class Fields;

//
//   connect(): connecting_ -> clean -- drive() --> within_ -- done --> clean, reading_ (rows left)
//                                                    |                           |
//                    deadline: killed_, kill_query() +-- task gone               +-- task gone
//                                                    v                           v
//                                                  recover(): broken_, the pool opens another
//
class Connection final : public db::Connection {
  public:
    Connection(task::Runner& runner, Settings settings);
    ~Connection() override;

    task::Task<> open(Instant deadline) override;
    task::Task<Batch> run(QueryRef query, Portion portion, Instant deadline) override;
    task::Task<Batch> more(Portion portion, Instant deadline) override;
    task::Task<> script(std::string sql, Instant deadline) override;
    task::Task<bool> recover() override;
    task::Task<bool> answers(Instant deadline) override;

    bool gone() override;
    bool clean() const override;
    bool broken() const override { return broken_; }
    void set_isolation_pending(bool on) override { isolation_pending_ = on; }
    bool maybe_done() const override { return sent_; }

  private:
    struct Prepared {
        st_mysql_stmt* statement = nullptr;
        std::uint64_t used = 0;
    };

    template <typename Start, typename Cont>
    task::Task<> drive(Start start, Cont cont, Instant deadline);
    task::Task<int> ready(int wanted, Instant& deadline);
    task::Task<> connect(std::string host, Instant deadline);
    task::Task<> open_by_name(Instant deadline);
    void begin_open(std::string host);
    void end_open();
    task::Task<> check_packet(std::uint64_t bytes, Instant deadline);
    task::Task<st_mysql_stmt*> prepare(const Query& query, Instant deadline);
    int start_fetch(st_mysql_stmt* statement);
    task::Task<> finish_fetch(st_mysql_stmt* statement, int status, Instant deadline);
    task::Task<Batch> read(Portion portion, Instant deadline);
    task::Task<> skip_results(st_mysql_stmt* statement, Instant deadline);
    task::Task<> run_text(std::string sql, Instant deadline);
    task::Task<> kill_query();
    void forget(st_mysql_stmt* statement);
    void end_statement(unsigned number);
    [[noreturn]] void fail(unsigned number, const char* message);
    [[noreturn]] void fail_statement(st_mysql_stmt* statement);

    task::Runner* runner_;
    Settings settings_;
    st_mysql* mysql_ = nullptr;
    std::string address_;  // or the name, where it was connected to
    Readiness readiness_;
    std::unordered_map<std::string, Prepared> statements_;
    std::uint64_t uses_ = 0;
    std::uint64_t packet_max_ = 0;      // 0: not known
    st_mysql_stmt* reading_ = nullptr;  // has rows left
    std::unique_ptr<Fields> fields_;    // of what is being read
    // The library writes this when a call is done, which may be after the task.
    int answer_ = 0;
    std::size_t results_ = 0;  // of the text that runs
    st_mysql* connected_ = nullptr;
    bool within_ = false;  // a call was begun and is not done
    bool unread_ = false;  // the end of an answer was not read, or a script's setting is not undone
    bool connecting_ = false;
    bool killed_ = false;     // its deadline came: the server has to end it
    bool kill_sent_ = false;  // as killed_, and a kill was sent
    PoolCalls kills_;
    PoolCalls opens_;
    bool sent_ = false;
    bool isolation_pending_ = false;
    bool broken_ = false;
};

}  // namespace tiderace::db::mariadb
