// PostgreSQL as a Connection: libpq, asynchronous, always in pipeline mode.
//
//   run(): [deallocate] [prepare] execute sync -> one flush -> results in that order -> clean
//   run_together(): the same with several before one sync, which is one implicit transaction
//
// A statement is prepared in the same round trip as it is first executed. Rows come one at a time,
// so that no result is ever held as a whole.
//
// Owner, thread, errors: ../connection.h. Cancelling is a second connection to the server, made on
// a thread of its own (pool_calls.h).
//
// The server has signalled its process before it closes that one, and a process that is idle
// ignores the signal: so a cancel that has ended hits no later statement. When a statement ends
// before its cancel does, the connection is closed.
// Keywords: PostgreSQL, libpq, pipeline mode, prepared statements
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tiderace/db/connection.h"
#include "tiderace/db/error.h"
#include "tiderace/db/pool.h"
#include "tiderace/db/pool_calls.h"
#include "tiderace/db/readiness.h"
#include "tiderace/task/runner.h"

struct pg_conn;
struct pg_result;

namespace tiderace::db::postgres {

//
//   null -> open(): connecting -> clean <--- drain() --- reading_ <- begin(), send(), sync()
//                                   |                      |
//                                   |                      |- deadline: a cancel, then as usual
//                                   |                      `- task gone, rows left: recover(),
//                                   |                         which cancels, drains, rolls back
//                                   `-- script(): out of the pipeline mode, and back
//
//   lose(), from any of these -> broken_: the pool closes it
//
class Connection final : public db::Connection {
  public:
    Connection(task::Runner& runner, Settings settings);
    ~Connection() override;

    task::Task<> open(Instant deadline) override;
    task::Task<Batch> run(QueryRef query, Portion portion, Instant deadline) override;
    task::Task<Batch> more(Portion portion, Instant deadline) override;
    task::Task<> run_together(Reads reads) override;
    void abandoned(const Read& read) override;
    task::Task<> script(std::string sql, Instant deadline) override;
    task::Task<bool> recover() override;
    task::Task<bool> answers(Instant deadline) override;
    task::Task<std::vector<Notification>> notifications(Instant deadline) override;

    bool gone() override;
    bool clean() const override;
    bool broken() const override { return broken_; }
    bool maybe_done() const override { return sent_; }

  private:
    struct Freed {
        void operator()(pg_result* result) const;
    };
    using Result = std::unique_ptr<pg_result, Freed>;
    struct Prepared {
        std::string name;
        std::uint64_t used = 0;
    };

    task::Task<> connect(std::string address, Instant deadline);
    void begin();
    void send(const Query& query);
    void sync();
    void send_preparation(const Query& query);
    void send_deallocation(const std::string& name);
    task::Task<Batch> run_once(const Query& query, Portion portion, const Instant& deadline);
    void note_failure(const pg_result* result);
    void forget_outdated(const Query& query);
    // Reads until the next result is whole.
    task::Task<> fill(const Instant& deadline);
    task::Task<Result> next(const Instant& deadline);
    task::Task<Batch> read(Portion portion, const Instant& deadline);
    // Up to the end of its result; further ones leave it where it is.
    task::Task<Batch> read_rows(Portion portion, const Instant& deadline);
    task::Task<bool> read_one_of(Read& read);
    void forget_preparing();
    task::Task<> skip_preparations(const Instant& deadline);
    task::Task<> drain(Instant deadline);
    task::Task<> send_cancel();
    void refuse_copy(const pg_result* result);
    void check_there();
    void end_statement();
    [[noreturn]] void lose(std::string_view why);

    task::Runner* runner_;
    Settings settings_;
    pg_conn* connection_ = nullptr;
    Readiness readiness_;
    std::unordered_map<std::string, Prepared> prepared_;
    std::uint64_t uses_ = 0;
    std::uint64_t names_ = 0;
    std::deque<std::string> preparing_;  // the texts whose preparations are under way
    std::vector<std::string> outdated_;  // names that the server still has
    unsigned before_ = 0;                // results of preparations to come before the rows
    Batch::Columns columns_;             // of what is being read
    std::optional<Error> failure_;       // of what is being read
    Instant together_until_{};           // the first deadline of several
    Instant cancelled_until_{};          // how long what was cancelled may take to end
    Instant used_{};                     // when it last answered
    bool is_outdated_ = false;           // it failed because its preparation counts no more
    bool is_known_by_server_ = false;    // the server has that preparation still
    PoolCalls cancels_;
    bool reading_ = false;  // results are to come
    bool unflushed_ = false;
    bool synced_ = false;     // its end was sent as well: the server will answer
    bool cancelled_ = false;  // its deadline came: a cancel was sent
    bool listens_ = false;    // notifications() will read what comes
    bool sent_ = false;
    bool broken_ = false;
};

}  // namespace tiderace::db::postgres
