#include "tiderace/db/sqlite/file.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "tiderace/db/error.h"

namespace tiderace::db::sqlite {
namespace {

// Instructions of SQLite's machine, well below a millisecond.
constexpr int instructions_between_looks = 4'096;
// Some milliseconds.
constexpr unsigned looks_together = 25;

Fault fault_of(int code, bool preparing) {
    switch (code) {
        case SQLITE_CONSTRAINT_UNIQUE:
        case SQLITE_CONSTRAINT_PRIMARYKEY:
        case SQLITE_CONSTRAINT_ROWID:
            return Fault::unique;
        case SQLITE_CONSTRAINT_FOREIGNKEY:
            return Fault::foreign_key;
        case SQLITE_CONSTRAINT_CHECK:
            return Fault::check;
        case SQLITE_CONSTRAINT_NOTNULL:
            return Fault::not_null;
        case SQLITE_BUSY_SNAPSHOT:
            // Another connection wrote after this transaction began to read: waiting does not help,
            // only the whole transaction again.
            return Fault::serialization;
        default:
            break;
    }
    switch (code & 0xFF) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return Fault::busy;
        case SQLITE_INTERRUPT:
            return Fault::timeout;
        case SQLITE_FULL:
            return Fault::full;
        case SQLITE_ERROR:
            return preparing ? Fault::syntax : Fault::other;
        case SQLITE_TOOBIG:
        case SQLITE_MISMATCH:
        case SQLITE_RANGE:
            return Fault::parameters;
        case SQLITE_CANTOPEN:
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_NOTADB:
            return Fault::configuration;
        default:
            return Fault::other;
    }
}

// By its value, which is found once: each sqlite3_column_...() would look for it again. Such a
// value is for one thread at a time, and File's lock is held.
void add_cell(Batch& batch, sqlite3_stmt* statement, int column) {
    sqlite3_value* const value = sqlite3_column_value(statement, column);
    const auto bytes = [&](const void* data) {
        const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
        return std::string_view(static_cast<const char*>(data), size);
    };
    switch (sqlite3_value_type(value)) {
        case SQLITE_INTEGER:
            return batch.add_number(Kind::integer, sqlite3_value_int64(value));
        case SQLITE_FLOAT:
            return batch.add_real(sqlite3_value_double(value));
        case SQLITE_TEXT: {
            const unsigned char* const text = sqlite3_value_text(value);
            // A database in UTF-16 has to make it now, which takes memory.
            if (text == nullptr) throw Error(Fault::other, sqlite3_errstr(SQLITE_NOMEM));
            return batch.add_bytes(Kind::text, bytes(text));
        }
        case SQLITE_BLOB:
            return batch.add_bytes(Kind::blob, bytes(sqlite3_value_blob(value)));
        default:
            return batch.add_null();
    }
}

// `owner`: SQLITE_STATIC where `value` outlives the binding, so that SQLite does not copy it.
int bind_value(sqlite3_stmt* statement, int index, const Value& value,
               sqlite3_destructor_type owner) {
    const auto text = [&](const std::string& from, sqlite3_destructor_type of_text) {
        return sqlite3_bind_text64(statement, index, from.data(), from.size(), of_text,
                                   SQLITE_UTF8);
    };
    switch (value.kind()) {
        case Kind::null:
            return sqlite3_bind_null(statement, index);
        case Kind::boolean:
        case Kind::integer:
            return sqlite3_bind_int64(statement, index, value.integer());
        case Kind::real:
            return sqlite3_bind_double(statement, index, value.real());
        case Kind::blob:
            // Without bytes, data() is not null: an empty blob, not null.
            return sqlite3_bind_blob64(statement, index, value.bytes().data(), value.bytes().size(),
                                       owner);
        case Kind::time:
            return text(time_text(value.integer()), SQLITE_TRANSIENT);
        case Kind::text:
        case Kind::decimal:
            return text(value.bytes(), owner);
    }
    return SQLITE_MISUSE;
}

// trusted_schema stays on: without it no trigger may write to an FTS5 table, which is how SQLite
// documents that an index follows its table. The schema is the application's own.
constexpr std::array<const char*, 3> settings = {
    "pragma journal_mode = wal", "pragma foreign_keys = on",
    "pragma busy_timeout = 0",  // a lock is waited for on the loop; that holds no thread
};

}  // namespace

// Holds the lock for one call, with its ticket and its deadline.
class File::Turn {
  public:
    Turn(File& file, std::uint64_t ticket, Instant until) : lock_(file.lock_) {
        if (ticket <= file.stopped_.load()) throw Error(Fault::timeout, "it was cancelled");
        file.ticket_ = ticket;
        file.until_ = until;
        file.current_ = nullptr;
        file.looks_left_ = 0;
    }

  private:
    std::lock_guard<std::mutex> lock_;
};

File::~File() {
    for (const auto& [sql, prepared] : statements_) sqlite3_finalize(prepared.statement);
    sqlite3_finalize(begin_);
    sqlite3_finalize(commit_);
    sqlite3_close_v2(database_);
}

// SQLite calls it every instructions_between_looks; other than 0 ends the statement, as
// SQLITE_INTERRUPT.
int File::on_progress(void* self) {
    auto* file = static_cast<File*>(self);
    if (file->looks_left_ > 0 && --file->looks_left_ == 0) return file->gave_way_ = true;
    return file->ticket_ <= file->stopped_.load(std::memory_order_relaxed) ||
           (file->current_ != nullptr && file->current_->abandoned) ||
           std::chrono::steady_clock::now() >= file->until_;
}

void File::stop(std::uint64_t ticket) {
    // First, so that work which begins after the interrupt finds its ticket stopped (Turn).
    stopped_ = ticket;
    if (sqlite3* const database = database_) sqlite3_interrupt(database);
}

void File::fail(int code, std::string_view operation) const {
    sqlite3* const database = database_;
    std::string text(database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code));
    const Fault fault = fault_of(code, operation == "prepare");
    if (fault == Fault::configuration) text.append(": ").append(options_.path);
    if (fault == Fault::timeout) text = "it took longer than it may";
    throw Error(fault, text);
}

void File::open(std::uint64_t ticket, Instant until) {
    const Turn turn(*this, ticket, until);
    sqlite3* database = nullptr;
    // NOMUTEX: lock_ is held by every call but stop(), and sqlite3_interrupt() may come from any
    // thread.
    constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int opened = sqlite3_open_v2(options_.path.c_str(), &database, flags, nullptr);
    if (sqlite3* const before = database_.exchange(database)) sqlite3_close_v2(before);
    if (opened != SQLITE_OK) fail(opened, "open");
    sqlite3_extended_result_codes(database, 1);
    // "name" is a name and never a string: a misspelt column is an error.
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_progress_handler(database, instructions_between_looks, on_progress, this);
    for (const char* setting : settings) {
        const int set = sqlite3_exec(database, setting, nullptr, nullptr, nullptr);
        if (set != SQLITE_OK) fail(set, "open");
    }
    // The file is opened for writing all the same: a reader has to make WAL's shared memory where
    // it is missing.
    if (options_.reads_only) {
        sqlite3_exec(database, "pragma query_only = on", nullptr, nullptr, nullptr);
    }
}

File::Prepared& File::prepare(const Query& query) {
    const auto found = statements_.find(query.scanned().text);
    if (found != statements_.end()) {
        found->second.used = ++uses_;
        return found->second;
    }
    // The one that is about to run is kept in any case.
    if (statements_.size() >= std::max<std::size_t>(options_.statements_max, 1)) {
        // A search is cheaper than an order that every use would have to keep: an application has
        // fewer texts than this, unless it builds them of values.
        auto oldest = statements_.begin();
        for (auto at = statements_.begin(); at != statements_.end(); ++at) {
            if (at->second.used < oldest->second.used) oldest = at;
        }
        sqlite3_finalize(oldest->second.statement);
        statements_.erase(oldest);
    }
    sqlite3_stmt* statement = nullptr;
    const std::string& sql = query.scanned().text;
    // PERSISTENT: it is kept for long, so SQLite does not take its memory from the small blocks of
    // its lookaside pool.
    const int code = sqlite3_prepare_v3(database_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) fail(code, "prepare");
    if (statement == nullptr) throw Error(Fault::syntax, "there is no statement in the text");
    Prepared& prepared = statements_[sql];
    prepared.statement = statement;
    prepared.used = ++uses_;
    return prepared;
}

// To be called behind the first step, which compiles the text again when a table has changed:
// "select *" may have others then.
void File::look_at_columns(Prepared& prepared) {
    sqlite3_stmt* const statement = prepared.statement;
    const int compiled = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 0);
    if (prepared.columns != nullptr && prepared.compiled == compiled) return;
    std::vector<std::string> names;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        names.emplace_back(sqlite3_column_name(statement, i));
    }
    prepared.columns = std::make_shared<const std::vector<std::string>>(std::move(names));
    prepared.compiled = compiled;
}

void File::bind(sqlite3_stmt* statement, const Query& query) const {
    // Of several, none leaves rows: the bindings end before the query does.
    const sqlite3_destructor_type owner = current_ != nullptr ? SQLITE_STATIC : SQLITE_TRANSIENT;
    // ":name" and "?2" are SQLite's own: without a value they would be null, and nothing would say
    // so.
    const auto wanted = static_cast<std::size_t>(sqlite3_bind_parameter_count(statement));
    if (wanted != query.values.size()) {
        throw Error(Fault::parameters,
                    "the statement takes " + std::to_string(wanted) + " values and gets " +
                        std::to_string(query.values.size()) + "; only \"?\" stands for one");
    }
    for (std::size_t i = 0; i < query.values.size(); ++i) {
        const int code = bind_value(statement, static_cast<int>(i) + 1, query.values[i], owner);
        if (code != SQLITE_OK) fail(code, "bind");
    }
}

Batch File::run(const Query& query, Portion portion, std::uint64_t ticket, Instant until) {
    const Turn turn(*this, ticket, until);
    return run_held(query, portion);
}

void File::run_together(const Reads& reads, const std::vector<Instant>& until,
                        std::uint64_t ticket) {
    const std::lock_guard held(lock_);
    ticket_ = ticket;
    current_ = nullptr;
    until_ = Instant::max();
    // Without it, each of them runs in a transaction of its own.
    if (reads.size() > 1) step_alone(begin_, "begin");
    for (std::size_t i = 0; i < reads.size(); ++i) {
        until_ = until[i];
        looks_left_ = reads.size() > 1 ? looks_together : 0;
        run_one_of(*reads[i]);
    }
    current_ = nullptr;
    looks_left_ = 0;
    until_ = Instant::max();
    // A failure may have ended it.
    if (sqlite3_get_autocommit(database_) != 0) return;
    const int ended = step_alone(commit_, "commit");
    if (ended != SQLITE_DONE) fail(ended, "step");
}

// SQLITE_DONE: it was done.
int File::step_alone(sqlite3_stmt*& statement, const char* sql) {
    if (statement == nullptr) {
        const int code =
            sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
        if (code != SQLITE_OK) return code;
    }
    const int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code;
}

void File::run_one_of(Read& read) {
    if (read.abandoned) return;
    const auto begun = std::chrono::steady_clock::now();
    gave_way_ = false;
    steps_ = 0;
    try {
        if (ticket_ <= stopped_.load()) throw Error(Fault::timeout, "it was cancelled");
        current_ = &read;
        Batch batch = run_held(*read.query, read.portion, std::move(read.room));
        // Its caller gets no further rows: one() wants two, and all_rows() fails with too many.
        if (batch.more) leave_rows();
        if (!batch.wants_writer) read.batch = std::move(batch);
    } catch (const Error& error) {
        // Left without an outcome, one that met a lock, or gave way, runs again on its own.
        if (error.kind() != Fault::busy && !gave_way_) read.failure = error;
    }
    read.steps = steps_;
    read.took = std::chrono::steady_clock::now() - begun;
}

Batch File::run_held(const Query& query, Portion portion, Batch::Room room) {
    Prepared& prepared = prepare(query);
    sqlite3_stmt* const statement = prepared.statement;
    // SQLite has one writer at a time: changes go to the pool's one connection for them.
    if (options_.reads_only && sqlite3_stmt_readonly(statement) == 0) {
        Batch refused;
        refused.wants_writer = true;
        return refused;
    }
    reading_ = statement;
    try {
        bind(statement, query);
        changes_before_ = sqlite3_total_changes64(database_);
        const int code = sqlite3_step(statement);
        look_at_columns(prepared);
        columns_ = prepared.columns;
        return read(portion, code, std::move(room));
    } catch (...) {
        leave_rows();
        throw;
    }
}

Batch File::more(Portion portion, std::uint64_t ticket, Instant until) {
    const Turn turn(*this, ticket, until);
    if (reading_ == nullptr) return Batch(columns_);
    try {
        return read(portion, sqlite3_step(reading_));
    } catch (...) {
        leave_rows();
        throw;
    }
}

// `code` is the outcome of the first step.
Batch File::read(Portion portion, int code, Batch::Room room) {
    Batch batch(columns_, std::move(room));
    const int columns = static_cast<int>(batch.width());
    if (code == SQLITE_ROW) batch.expect_row();
    for (std::size_t rows = 1; code == SQLITE_ROW; ++rows, code = sqlite3_step(reading_)) {
        for (int i = 0; i < columns; ++i) add_cell(batch, reading_, i);
        batch.more = rows >= portion.rows_max || batch.bytes() >= portion.bytes_max;
        if (batch.more) return batch;
    }
    if (code != SQLITE_DONE) fail(code, "step");
    // sqlite3_changes64() stays what the last change left, also after a statement that only reads.
    if (sqlite3_total_changes64(database_) != changes_before_) {
        batch.done.rows = static_cast<std::uint64_t>(sqlite3_changes64(database_));
        batch.done.last_id = sqlite3_last_insert_rowid(database_);
    }
    leave_rows();
    batch.steps = steps_;
    batch.in_transaction = sqlite3_get_autocommit(database_) == 0;
    return batch;
}

void File::leave_rows() {
    if (reading_ == nullptr) return;
    steps_ = static_cast<std::uint64_t>(
        sqlite3_stmt_status(reading_, SQLITE_STMTSTATUS_VM_STEP, /*resetFlg=*/1));
    sqlite3_reset(reading_);
    // A blob of megabytes would otherwise stay in memory until the statement is used again.
    sqlite3_clear_bindings(reading_);
    reading_ = nullptr;
}

void File::script(const std::string& sql, std::uint64_t ticket, Instant until) {
    const Turn turn(*this, ticket, until);
    // SQLite reads up to a zero byte: what follows would not run, and nothing would report it.
    if (sql.find('\0') != sql.npos) throw Error(Fault::syntax, "there is a zero byte in the text");
    std::size_t at = 0;
    std::size_t failed_at = 0;
    try {
        while (at < sql.size()) {
            const std::string_view rest = std::string_view(sql).substr(at);
            const std::size_t begin = start_of_statement(rest, 0, Dialect::sqlite);
            failed_at = at + (begin == rest.npos ? 0 : begin);
            at += run_first(rest, failed_at - at, failed_at);
        }
    } catch (const Error& error) {
        throw error.with_line(line_at(sql, failed_at));
    }
}

// Returns the length of the statement. `failed_at` moves to the word that cannot be understood.
std::size_t File::run_first(std::string_view rest, std::size_t begin, std::size_t& failed_at) {
    sqlite3_stmt* made = nullptr;
    const char* tail = nullptr;
    const std::string_view text = rest.substr(begin);
    const int prepared =
        sqlite3_prepare_v2(database_, text.data(), static_cast<int>(text.size()), &made, &tail);
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(made, sqlite3_finalize);
    if (prepared != SQLITE_OK) {
#if SQLITE_VERSION_NUMBER >= 3038000
        const int word = sqlite3_error_offset(database_);
        if (word > 0) failed_at += static_cast<std::size_t>(word);
#endif
        fail(prepared, "prepare");
    }
    // A text of comments alone makes no statement.
    int code = made != nullptr ? SQLITE_ROW : SQLITE_DONE;
    while (code == SQLITE_ROW) code = sqlite3_step(made);
    if (code != SQLITE_DONE) fail(code, "step");
    return static_cast<std::size_t>(tail - rest.data());
}

bool File::recover() {
    const std::lock_guard lock(lock_);
    until_ = Instant::max();
    ticket_ = stopped_.load() + 1;  // nothing stops this
    current_ = nullptr;
    looks_left_ = 0;
    leave_rows();
    if (database_ == nullptr) return false;
    if (sqlite3_get_autocommit(database_) != 0) return true;
    return sqlite3_exec(database_, "rollback", nullptr, nullptr, nullptr) == SQLITE_OK;
}

}  // namespace tiderace::db::sqlite
