// Internal. Gather: reads of different tasks that go to the database together.
//
//   PostgreSQL, a connection is free -> the read has it for itself
//   none is; SQLite, always          -> it waits for the tasks that are ready: the next connection
//                                       takes all that wait by then, up to Options::reads_together,
//                                       sends them at once, and reads in order
//   one fails                        -> it has its error; in PostgreSQL the others are done again,
//                                       each for itself
//   SQLite, one takes long           -> it gives way and is done again for itself, and from then on
//                                       its statement goes alone
//
// A read is answered once all of its company are done; in PostgreSQL when none failed, as they are
// one implicit transaction. A connection takes its share: as many as the others get.
//
// Owner    A Pool. Its tasks end before it.
// Thread   The loop's. SQLite writes the results on a thread of the pool.
// Errors   As begin_statement(). Where memory runs out, waiting reads go on by themselves.
// Limits   Options: reads_together, waiting_max, the timeouts.
// Keywords: batching, N+1
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "tiderace/db/connection.h"
#include "tiderace/db/error.h"
#include "tiderace/task/task.h"

namespace tiderace::db {

class Lease;
class Pool;

class Gather final {
  public:
    explicit Gather(Pool& pool) : pool_(&pool) {}
    ~Gather() = default;
    Gather(const Gather&) = delete;
    Gather& operator=(const Gather&) = delete;

    // Whether a read that begins now had better come here.
    bool helps(const Query& query) const;
    // Nothing: it is to be done for itself.
    task::Task<std::optional<Batch>> read(QueryRef query, Portion portion);

    // Reads that wait for a connection, and tasks of this room that do so for them.
    std::size_t waiting() const { return waiting_.size(); }
    std::size_t collectors_waiting() const { return collectors_waiting_; }
    bool unused() const { return waiting_.empty() && collectors_ == 0; }

  private:
    class Waiting;
    class Company;

    std::size_t collectors_wanted() const;
    task::Task<> collect();
    task::Task<> let_others_ask();
    task::Task<Lease> take(Instant until);
    task::Task<> serve(Connection& connection);
    task::Task<> run_share(Connection& connection);
    Reads share();
    // `is_over`: reads that have time left go on waiting.
    void fail(const Error& error, bool is_over);
    void leave_to_themselves();

    Pool* pool_;
    std::deque<ReadRef> waiting_;
    std::size_t collectors_ = 0;
    std::size_t collectors_waiting_ = 0;  // for a connection
    std::size_t collectors_coming_ = 0;   // behind the tasks that are ready
};

}  // namespace tiderace::db
