// Transaction: statements that are done as a whole, or not at all.
//
//   begin -> statements -> commit                          the function returned
//                 |-> roll back                            it threw
//                 +-> roll back, by the pool, on its own   the task was cancelled
//
// After a statement that failed or was cancelled, all others fail and nothing is committed, in
// every dialect. What may fail alone goes into a transaction() of its own, which is a savepoint.
//
// Owner    Database::transaction() makes it; the function has a reference for as long as it runs.
// Thread   One task's; one statement at a time.
// Errors   Error. A connection lost during the commit, and in MariaDB a commit that takes too long:
//          Error{unknown_outcome}.
// Keywords: BEGIN, COMMIT, ROLLBACK, deadlock, isolation, savepoint
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/db/pool.h"
#include "tiderace/db/statements.h"
#include "tiderace/task/awaitable.h"
#include "tiderace/task/offload.h"

namespace tiderace::db {

struct TransactionOptions {
    // How often in all, while the error is worth another (Error::worth_another): the function is
    // called again from its start. 1: never.
    unsigned attempts = 1;
    bool reads_only = false;    // SQLite: it does not wait for the writer
    bool serializable = false;  // PostgreSQL and MariaDB; SQLite's always are
};

class Database;

class Transaction final : public Statements {
  public:
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() = default;

    // A savepoint: an error that leaves `f` takes back what `f` did and is thrown on.
    template <typename F>
        requires std::is_invocable_v<std::remove_cvref_t<F>&, Transaction&>
    auto transaction(F&& f) {
        static_assert(task::survives_co_await<F>(), "give the lambda a name first (task.h)");
        using T = task::awaited_t<std::invoke_result_t<std::remove_cvref_t<F>&, Transaction&>>;
        return nested<T, std::remove_cvref_t<F>>(*this, std::forward<F>(f));
    }

  private:
    friend class Database;
    class Use;

    explicit Transaction(Lease lease) : lease_(std::move(lease)) {}

    static task::Task<std::unique_ptr<Transaction>> begin(Pool& pool, TransactionOptions options);
    static task::Task<std::unique_ptr<Transaction>> begin_serializable(Pool& pool,
                                                                       TransactionOptions options);
    task::Task<> commit();
    // Throws nothing.
    task::Task<> roll_back();
    task::Task<> save();
    task::Task<> release();
    task::Task<> roll_back_to_savepoint();
    void doom() { doomed_ = true; }
    void check_usable() const;
    Error ended_with(const Error& failure) const;
    task::Task<> command(std::string sql);
    task::Task<Batch> fetch(Wanted wanted, std::string sql, std::vector<Value> values) override;
    task::Generator<Batch> batches(std::string sql, std::vector<Value> values) override;

    // Notices when its coroutine is destroyed before its end.
    class Unfinished {
      public:
        explicit Unfinished(Transaction& transaction) : transaction_(&transaction) {}
        ~Unfinished() {
            if (transaction_ != nullptr) transaction_->doom();
        }
        Unfinished(const Unfinished&) = delete;
        Unfinished& operator=(const Unfinished&) = delete;
        void finished() { transaction_ = nullptr; }

      private:
        Transaction* transaction_;
    };

    template <typename T, typename F>
    static task::Task<T> nested(Transaction& self, F f) {
        Unfinished unfinished(self);
        co_await self.save();
        std::exception_ptr failure;
        std::optional<std::conditional_t<std::is_void_v<T>, bool, T>> value;
        try {
            if constexpr (std::is_void_v<T>) {
                co_await f(self);
            } else {
                value.emplace(co_await f(self));
            }
            co_await self.release();
        } catch (...) {
            failure = std::current_exception();
        }
        if (failure) co_await self.roll_back_to_savepoint();
        unfinished.finished();
        if (failure) std::rethrow_exception(failure);
        if constexpr (!std::is_void_v<T>) co_return std::move(*value);
    }

    Lease lease_;
    unsigned depth_ = 0;   // of savepoints
    bool busy_ = false;    // a statement runs, or its rows are being read
    bool failed_ = false;  // a statement: to be rolled back, to the savepoint or as a whole
    bool committing_ = false;
    bool doomed_ = false;  // one was cancelled: as a whole
};

}  // namespace tiderace::db
