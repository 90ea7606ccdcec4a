// Transaction: commands that are done as a whole, with no others between them (MULTI, EXEC), on
// a connection of their own.
//
//   auto tx = co_await redis.transaction();
//   co_await tx.watch("stock");
//   const auto left = co_await tx.command<std::int64_t>("GET", "stock");
//   tx.queue("SET", "stock", std::to_string(left - 1));
//   tx.queue("RPUSH", "orders", order);
//   const auto done = co_await tx.exec();        // nullopt: another client changed "stock"
//
// Redis does not roll back: a command that fails inside leaves the others done, and its reply is
// the error.
//
//   exec():  MULTI -> its answer -> the commands, EXEC -> their answers
//
// The second round trip is the price: a server that refuses MULTI, as for an account that may not
// use it, would do what comes behind it one by one.
//
// Owner    The task. Its end forgets what was queued, and what was watched.
// Thread   The loop's.
// Errors   Error. From exec() Error{unknown_outcome}: the connection was lost meanwhile. Error{
//          connection_lost}: it was lost before a command was sent.
// Keywords: MULTI, EXEC, WATCH
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/db/redis/link.h"
#include "tiderace/db/redis/reply.h"
#include "tiderace/db/reserve.h"

namespace tiderace::db::redis {

class OwnConnection;

class Transaction final {
  public:
    explicit Transaction(Loan loan) : loan_(std::move(loan)) {}
    Transaction(Transaction&&) = default;

    // exec() does nothing if another client changes one of them from here on.
    template <Word... Keys>
    task::Task<> watch(std::string_view key, const Keys&... more) {
        return start_watch(make_command("WATCH", key, more...));
    }
    // At once, in front of the transaction: to read what it depends on.
    template <typename T = Reply, Word... Words>
    task::Task<T> command(std::string_view name, const Words&... words) {
        return run<T>(make_command(name, words...));
    }
    // For exec().
    template <Word... Words>
    void queue(std::string_view name, const Words&... words) {
        queue(make_command(name, words...));
    }
    void queue(Arguments words) { queue(make_command(words)); }

    // The replies, in order; nullopt: a watched key was changed and nothing was done.
    task::Task<std::optional<std::vector<Reply>>> exec();

  private:
    OwnConnection& connection() const;
    void queue(Command command);
    task::Task<> start_watch(Command command);
    task::Task<> begin();
    task::Task<Reply> ask_now(Command command);

    template <typename T>
    task::Task<T> run(Command command) {
        const Reply reply = co_await ask_now(std::move(command));
        if constexpr (!std::is_void_v<T>) co_return Decode<T>::from(reply.view());
    }

    Loan loan_;
    std::vector<Command> queued_;
};

}  // namespace tiderace::db::redis
