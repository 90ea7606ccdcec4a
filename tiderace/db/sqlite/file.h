// File: one SQLite connection: its prepared statements, and the one whose rows are being read.
//
// Calls may block, so they come from threads of the pool, one at a time under `lock`. Only stop()
// comes from the loop: what began with a ticket up to that one ends at once, and what has not begun
// never does.
//
// Owner    Shared by the connection and the work that is out; the last one closes it.
// Errors   Error.
// Keywords: SQLite, WAL, prepared statements
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tiderace/base/units.h"
#include "tiderace/db/batch.h"
#include "tiderace/db/connection.h"
#include "tiderace/db/options.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tiderace::db::sqlite {

struct FileOptions {
    std::string path;  // ":memory:": none
    bool reads_only = false;
    std::size_t statements_max = Options{}.statements_max;
};

class File final {
  public:
    explicit File(FileOptions options) : options_(std::move(options)) {}
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    // ---- on a thread of the pool; `until` is the system's steady clock
    void open(std::uint64_t ticket, Instant until);
    Batch run(const Query& query, Portion portion, std::uint64_t ticket, Instant until);
    Batch more(Portion portion, std::uint64_t ticket, Instant until);
    // In one read transaction, which locks the file once for all of them. Ends each, unless a lock
    // is in the way, it writes, or it takes long enough that it gives way to the others
    // (some milliseconds). No rows are left.
    void run_together(const Reads& reads, const std::vector<Instant>& until, std::uint64_t ticket);
    void script(const std::string& sql, std::uint64_t ticket, Instant until);
    // Leaves rows and transaction. False: it failed.
    bool recover();

    // ---- on the loop
    void stop(std::uint64_t ticket);

  private:
    class Turn;
    struct Prepared {
        sqlite3_stmt* statement = nullptr;
        std::uint64_t used = 0;
        // As they were when it was compiled for the `compiled`th time, after its first.
        Batch::Columns columns = nullptr;
        int compiled = 0;
    };

    Batch run_held(const Query& query, Portion portion, Batch::Room room = {});
    void run_one_of(Read& read);
    int step_alone(sqlite3_stmt*& statement, const char* sql);
    static int on_progress(void* self);
    Prepared& prepare(const Query& query);
    static void look_at_columns(Prepared& prepared);
    void bind(sqlite3_stmt* statement, const Query& query) const;
    Batch read(Portion portion, int code, Batch::Room room = {});
    std::size_t run_first(std::string_view rest, std::size_t begin, std::size_t& failed_at);
    void leave_rows();
    [[noreturn]] void fail(int code, std::string_view operation) const;

    const FileOptions options_;
    std::mutex lock_;
    std::atomic<sqlite3*> database_ = nullptr;
    std::atomic<std::uint64_t> stopped_ = 0;  // this ticket and those before it
    std::uint64_t ticket_ = 0;                // of what runs; below, all under `lock_`
    Instant until_{};
    unsigned looks_left_ = 0;  // of on_progress(), then one of several gives way; 0: never
    bool gave_way_ = false;
    std::uint64_t steps_ = 0;  // of the last statement
    std::unordered_map<std::string, Prepared> statements_;
    std::uint64_t uses_ = 0;
    const Read* current_ = nullptr;    // of several
    sqlite3_stmt* reading_ = nullptr;  // has rows left
    sqlite3_stmt* begin_ = nullptr;    // of several reads; prepared when they first come
    sqlite3_stmt* commit_ = nullptr;
    Batch::Columns columns_;
    std::int64_t changes_before_ = 0;
};

}  // namespace tiderace::db::sqlite
