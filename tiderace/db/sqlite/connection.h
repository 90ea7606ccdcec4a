// SQLite as a Connection: calls on a File, each on a thread of the worker pool.
//
// Owner, thread, errors: ../connection.h.
#pragma once

#include <cstdint>
#include <memory>

#include "tiderace/db/connection.h"
#include "tiderace/db/sqlite/file.h"
#include "tiderace/task/runner.h"

namespace tiderace::db::sqlite {

class Connection final : public db::Connection {
  public:
    Connection(task::Runner& runner, FileOptions options);
    ~Connection() override;

    task::Task<> open(Instant deadline) override;
    task::Task<Batch> run(QueryRef query, Portion portion, Instant deadline) override;
    task::Task<Batch> more(Portion portion, Instant deadline) override;
    task::Task<> run_together(Reads reads) override;
    task::Task<> script(std::string sql, Instant deadline) override;
    task::Task<bool> recover() override;
    task::Task<bool> answers(Instant deadline) override;

    bool gone() override { return false; }
    bool clean() const override { return clean_; }
    bool broken() const override { return broken_; }
    bool maybe_done() const override { return false; }

  private:
    class Out;

    Instant steady(Instant deadline) const;

    task::Runner* runner_;
    std::shared_ptr<File> file_;
    std::uint64_t ticket_ = 0;
    bool clean_ = true;
    bool broken_ = false;
};

}  // namespace tiderace::db::sqlite
