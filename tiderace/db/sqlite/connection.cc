#include "tiderace/db/sqlite/connection.h"

#include <chrono>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/task/offload.h"

namespace tiderace::db::sqlite {

// A call that is out. One that ends unfinished stops it: its task was destroyed, or it failed.
class Connection::Out {
  public:
    explicit Out(Connection& connection) : ticket(++connection.ticket_), file_(connection.file_) {
        connection.clean_ = false;
    }
    ~Out() {
        if (!finished_) file_->stop(ticket);
    }
    Out(const Out&) = delete;
    Out& operator=(const Out&) = delete;

    void finished() { finished_ = true; }

    const std::uint64_t ticket;

  private:
    std::shared_ptr<File> file_;
    bool finished_ = false;
};

Connection::Connection(task::Runner& runner, FileOptions options)
    : runner_(&runner), file_(std::make_shared<File>(std::move(options))) {}

Connection::~Connection() = default;

// The loop's clock may be a test's; SQLite's machine looks at the system's.
Instant Connection::steady(Instant deadline) const {
    if (deadline == Instant::max()) return deadline;
    return moment_after(std::chrono::steady_clock::now(), deadline - runner_->loop().now());
}

task::Task<> Connection::open(Instant deadline) {
    Out out(*this);
    const auto work = [file = file_, ticket = out.ticket, until = steady(deadline)] {
        file->open(ticket, until);
    };
    co_await task::offload(work);
    out.finished();
    clean_ = true;
}

task::Task<Batch> Connection::run(QueryRef query, Portion portion, Instant deadline) {
    Out out(*this);
    const auto work = [file = file_, query, portion, ticket = out.ticket,
                       until = steady(deadline)] {
        return file->run(*query, portion, ticket, until);
    };
    Batch batch = co_await task::offload(work);
    out.finished();
    // Until here it was false: a task that ends while the call is out leaves a connection that has
    // to recover.
    clean_ = !batch.more && !batch.in_transaction;
    co_return batch;
}

task::Task<Batch> Connection::more(Portion portion, Instant deadline) {
    Out out(*this);
    const auto work = [file = file_, portion, ticket = out.ticket, until = steady(deadline)] {
        return file->more(portion, ticket, until);
    };
    Batch batch = co_await task::offload(work);
    out.finished();
    clean_ = !batch.more && !batch.in_transaction;
    co_return batch;
}

// One way to the pool and back for all of them.
task::Task<> Connection::run_together(Reads reads) {
    Out out(*this);
    std::vector<Instant> until;
    until.reserve(reads.size());
    for (const ReadRef& each : reads) until.push_back(steady(each->deadline));
    const auto work = [file = file_, reads = std::move(reads), until = std::move(until),
                       ticket = out.ticket] { file->run_together(reads, until, ticket); };
    co_await task::offload(work);
    out.finished();
    clean_ = true;
}

task::Task<> Connection::script(std::string sql, Instant deadline) {
    Out out(*this);
    const auto work = [file = file_, sql = std::move(sql), ticket = out.ticket,
                       until = steady(deadline)] { file->script(sql, ticket, until); };
    co_await task::offload(work);
    // It stays unclean: a script may leave a transaction open, and recover() finds out.
    out.finished();
}

task::Task<bool> Connection::recover() {
    const auto work = [file = file_] { return file->recover(); };
    const bool recovered = co_await task::offload(work);
    clean_ = recovered;
    broken_ = !recovered;
    co_return recovered;
}

task::Task<bool> Connection::answers(Instant) {
    co_return true;  // a file has no other end
}

}  // namespace tiderace::db::sqlite
