#include "tiderace/db/database.h"

#include <algorithm>

#include "tiderace/db/execution.h"
#include "tiderace/db/gather.h"
#include "tiderace/task/sleep.h"

namespace tiderace::db {
namespace {

constexpr Duration attempt_pause = 5ms;
constexpr Duration attempt_pause_max = 500ms;

// The pool is found when the task is awaited: only then is there a loop.
task::Task<Batch> fetch_from(std::shared_ptr<const Settings> settings, Wanted wanted,
                             std::string sql, std::vector<Value> values) {
    Pool& pool = pool_of(settings);
    const Options& options = pool.settings().options;
    QueryRef query = make_query(pool, std::move(sql), std::move(values));
    const Portion portion = portion_for(wanted, options);
    // Changes are never sent with others: in one pipeline, a failure undoes all of it.
    if (only_reads(*query, wanted) && pool.gather().helps(*query)) {
        std::optional<Batch> batch = co_await pool.gather().read(query, portion);
        // Without one it runs on its own below: what it waited with has failed.
        if (batch) check_size(*batch, wanted, *query, options);
        if (batch) co_return std::move(*batch);
    }
    Begun begun = co_await begin_statement(pool, query, wanted, portion);
    check_size(begun.batch, wanted, *query, options);
    co_return std::move(begun.batch);
}

task::Generator<Batch> batches_from(std::shared_ptr<const Settings> settings, std::string sql,
                                    std::vector<Value> values) {
    Pool& pool = pool_of(settings);
    const Options& options = pool.settings().options;
    const Portion portion{.rows_max = options.stream_rows, .bytes_max = options.stream_bytes};
    QueryRef query = make_query(pool, std::move(sql), std::move(values));
    Begun begun = co_await begin_statement(pool, query, Wanted::all_rows, portion);
    while (true) {
        const bool more = begun.batch.more;
        co_yield std::move(begun.batch);
        if (!more) co_return;
        std::optional<Error> failure;
        try {
            begun.batch = co_await read_on(pool, *begun.lease, query, portion);
        } catch (const Error& error) {
            failure = outcome_of(error, *begun.lease, *query, Wanted::all_rows);
        }
        // Not begun anew, as begin_statement() would: the reader has seen rows of it.
        if (failure) throw *failure;
    }
}

task::Task<> script_on(std::shared_ptr<const Settings> settings, std::string sql) {
    Pool& pool = pool_of(settings);
    // A script's statements are not read here, so any of them may write.
    Lease lease = co_await pool.take(Lane::writes, waiting_deadline(pool));
    std::optional<Error> failure;
    try {
        co_await lease->script(sql, statement_deadline(pool));
    } catch (const Error& error) {
        // Part of it may have been done, whatever it reports about the whole.
        const bool unknown = error.kind() == Fault::connection_lost && lease->maybe_done();
        failure = (unknown ? error.with_kind(Fault::unknown_outcome) : error).with_statement(sql);
    }
    if (failure) throw *failure;
}

task::Task<> ping_by(task::Task<std::optional<std::int64_t>> read) {
    co_await std::move(read);
}

}  // namespace

Database::Database(Url url, const Options& options)
    : settings_(std::make_shared<const Settings>(Settings{std::move(url), options})) {
    // Now, and not at the first statement: a program that cannot work should not start.
    check_built(settings_->url);
}

Pool& Database::pool_here(const std::shared_ptr<const Settings>& settings) {
    return pool_of(settings);
}

task::Task<Batch> Database::fetch(Wanted wanted, std::string sql, std::vector<Value> values) {
    return fetch_here(wanted, std::move(sql), std::move(values));
}

task::Task<Batch> Database::fetch_here(Wanted wanted, std::string sql,
                                       std::vector<Value> values) const {
    return fetch_from(settings_, wanted, std::move(sql), std::move(values));
}

task::Generator<Batch> Database::batches(std::string sql, std::vector<Value> values) {
    return batches_here(std::move(sql), std::move(values));
}

task::Generator<Batch> Database::batches_here(std::string sql, std::vector<Value> values) const {
    return batches_from(settings_, std::move(sql), std::move(values));
}

task::Task<> Database::script(std::string sql) const {
    return script_on(settings_, std::move(sql));
}

task::Task<> Database::ping() const {
    // A statement, and not only a connection: a server that starts up accepts connections, too.
    return ping_by(one<std::int64_t>("select 1"));
}
Pool::Counters Database::counters() const {
    return pool_here(settings_).counters();
}

bool Database::worth_another(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const Error& error) {
        return error.worth_another();
    } catch (...) {
        return false;
    }
}

task::Task<> Database::pause_before(Pool& pool, unsigned attempt) {
    // Doubles, and is spread, so that transactions that collided do not collide again in step.
    const Duration pause = attempt_pause * (1U << std::min(attempt - 1, 10U));
    co_await task::sleep(pool.about(std::min(pause, attempt_pause_max)));
}

Database open(std::string_view url, const Options& options) {
    return {Url::parse(url), options};
}

}  // namespace tiderace::db
