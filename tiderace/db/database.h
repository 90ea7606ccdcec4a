// Database: statements, transactions and streams of rows, awaited.
//
//   auto member = co_await db.one<Member>("select id, name from member where id = ?", id);
//   auto done = co_await db.exec("update member set name = ? where id = ?", name, id);
//   co_await db.transaction([&](db::Transaction& tx) -> Task<> {
//       co_await tx.exec("update account set cents = cents - ? where id = ?", cents, from);
//       co_await tx.exec("update account set cents = cents + ? where id = ?", cents, to);
//   });
//
// Owner    A handle: copy it, keep it as long as you like. Each loop has its own pool, which ends
//          some time after the last handle.
// Thread   Any loop's, in a task. A Transaction is one task's.
// Errors   Error (error.h), thrown by the await.
// Safety   A `select` of one(), all() or a stream that has not begun is sent again, once, when its
//          connection was lost: change data by exec() alone. exec() is never sent twice: where it
//          may have been done, the error is Error{unknown_outcome}.
// Limits   Options.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/db/options.h"
#include "tiderace/db/pool.h"
#include "tiderace/db/statements.h"
#include "tiderace/db/transaction.h"

namespace tiderace::db {

class Database final : public Statements {
  public:
    // The handle that open() returns.
    Database(Url url, const Options& options);

    // A handle that is const, such as a lambda's capture, does all that another does: these hide
    // the functions of Statements, which stay for what takes either a Database or a Transaction.
    template <typename T, typename... A>
    task::Task<std::optional<T>> one(std::string_view sql, const A&... values) const {
        return one_of<T>(fetch_here(Wanted::one_row, std::string(sql), bound(values...)));
    }
    template <typename T, typename... A>
    task::Task<std::vector<T>> all(std::string_view sql, const A&... values) const {
        return all_of<T>(fetch_here(Wanted::all_rows, std::string(sql), bound(values...)));
    }
    template <typename... A>
    task::Task<Done> exec(std::string_view sql, const A&... values) const {
        return done_of(fetch_here(Wanted::no_rows, std::string(sql), bound(values...)));
    }
    template <typename T, typename... A>
    task::Generator<T> stream(std::string_view sql, const A&... values) const {
        return rows_of<T>(batches_here(std::string(sql), bound(values...)));
    }

    // Commits when `f` returns; rolls back when it throws, and when the task is cancelled.
    template <typename F>
        requires std::is_invocable_v<std::remove_cvref_t<F>&, Transaction&>
    auto transaction(F&& f, TransactionOptions options = {}) const {
        static_assert(task::survives_co_await<F>(), "give the lambda a name first (task.h)");
        using T = task::awaited_t<std::invoke_result_t<std::remove_cvref_t<F>&, Transaction&>>;
        return attempt<T, std::remove_cvref_t<F>>(settings_, std::forward<F>(f), options);
    }

    // Several statements in one text, without parameters. Not as a whole: what is in front of a
    // failed one was done, unless the text begins a transaction.
    task::Task<> script(std::string sql) const;
    // Throws where the database cannot be reached.
    task::Task<> ping() const;

    Dialect dialect() const { return settings_->url.dialect; }
    // Where it is, without the password.
    std::string shown() const { return settings_->url.shown(); }
    // The counters of this loop's pool.
    Pool::Counters counters() const;
    const std::shared_ptr<const Settings>& settings() const { return settings_; }

  private:
    task::Task<Batch> fetch(Wanted wanted, std::string sql, std::vector<Value> values) override;
    task::Generator<Batch> batches(std::string sql, std::vector<Value> values) override;
    task::Task<Batch> fetch_here(Wanted wanted, std::string sql, std::vector<Value> values) const;
    task::Generator<Batch> batches_here(std::string sql, std::vector<Value> values) const;
    static Pool& pool_here(const std::shared_ptr<const Settings>& settings);
    static bool worth_another(const std::exception_ptr& failure);
    static task::Task<> pause_before(Pool& pool, unsigned attempt);

    template <typename T, typename F>
    static task::Task<T> attempt(std::shared_ptr<const Settings> settings, F f,
                                 TransactionOptions options) {
        Pool& pool = pool_here(settings);
        for (unsigned tried = 1; true; ++tried) {
            std::exception_ptr failure;
            std::optional<std::conditional_t<std::is_void_v<T>, bool, T>> value;
            std::unique_ptr<Transaction> transaction;
            try {
                transaction = co_await Transaction::begin(pool, options);
                if constexpr (std::is_void_v<T>) {
                    co_await f(*transaction);
                } else {
                    value.emplace(co_await f(*transaction));
                }
                co_await transaction->commit();
            } catch (...) {
                failure = std::current_exception();
            }
            if (!failure) {
                if constexpr (std::is_void_v<T>) {
                    co_return;
                } else {
                    co_return std::move(*value);
                }
            }
            if (transaction) co_await transaction->roll_back();
            transaction.reset();
            if (tried >= options.attempts || !worth_another(failure)) {
                std::rethrow_exception(failure);
            }
            co_await pause_before(pool, tried);
        }
    }

    std::shared_ptr<const Settings> settings_;
};

// SQLite counts the memory that it holds under a lock of the whole program, which each of its
// allocations takes. For a program without a use for this count (sqlite3_memory_used(), SQLite's
// limits of its heap); small blocks then come from the pool of each thread's coroutine frames. In
// main(), before there are threads. False: SQLite was in use before, or this build has none;
// nothing has changed.
bool leave_sqlite_memory_uncounted();

// Connects at the first statement. Throws Error{configuration} for a URL that is
// none, and for a database that this build does not have.
Database open(std::string_view url, const Options& options = {});

}  // namespace tiderace::db
