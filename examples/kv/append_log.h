// AppendLog: every change, as a command that repeats it, at the end of a file.
//
//   append() … append()  -> end of turn -> always:    one job of the pool writes and syncs, then
//                                                     the answers that wait are released
//                                       -> otherwise: written, then answered; synced once a
//                                                     second, or when the system likes
//   rotate()                           -> what is appended next waits, and its answers with it,
//                                         until a job has synced the old file
//
// So a crash of the machine may tear the last file that is not empty, and no other.
// All changes of a turn share one sync (group commit), and what comes while one is under way shares
// the next. The loop never waits for the disk's sync.
//
// Owner    The server.
// Thread   The loop's; a job has its own copy of what it writes.
// Errors   A full disk: the file is cut back to its last whole command, failed() is true and writes
//          are refused until a later try succeeds. After a sync that failed they are refused until
//          the program is started again: the kernel may have dropped what it could not write, and
//          the next sync would succeed without it. With `always`, where commands were executed that
//          cannot be kept, the program ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "examples/kv/options.h"
#include "tiderace/base/bytes.h"
#include "tiderace/core/blocking_jobs.h"
#include "tiderace/core/event_loop.h"

namespace kv {

namespace core = tiderace::core;
using tiderace::ByteView;
using tiderace::Result;

// The mode of each file that holds keys: their values may be secrets.
constexpr mode_t data_mode = 0600;

// "FOLDER/log-7".
std::string log_path(const std::string& folder, std::uint64_t number);
// Makes new and renamed files of a folder last.
Result<> sync_folder(const std::string& folder);
// Syncs the bytes that any program has written to it.
Result<> sync_file(const std::string& path);

class AppendLog final : private core::TurnEnd {
  public:
    struct Hooks {
        std::function<void()> started;  // keeping all that was appended until now
        std::function<void()> ended;    // it is kept: answers may go
    };

    AppendLog(core::EventLoop& loop, core::WorkerPool& pool, Hooks hooks);
    ~AppendLog() override;
    AppendLog(const AppendLog&) = delete;
    AppendLog& operator=(const AppendLog&) = delete;

    // Goes on behind what file `number` holds.
    Result<> open(const std::string& folder, std::uint64_t number, Sync sync);
    void append(ByteView command);
    // Later commands go to file `number`, once the one before it is synced.
    Result<> rotate(std::uint64_t number);
    // Ten times a second.
    void tick();

    bool is_open() const { return file_ != nullptr; }
    // Answers wait: their changes are not yet written, or with `always` not yet synced.
    bool holds_answers() const { return waiting_bytes_ > 0 || (busy_ && sync_ == Sync::always); }
    bool failed() const { return !failure_.empty(); }
    const std::string& failure() const { return failure_; }
    std::uint64_t number() const { return number_; }
    std::uint64_t bytes() const { return bytes_; }

    class File;  // one of the log's, open

  private:
    struct Batch {
        std::shared_ptr<File> file;
        std::string text;
    };
    class Job;

    void on_turn_end() override;
    void start_job();
    void job_done(const std::string& failure);
    bool start_sync();
    bool may_write_to(const std::shared_ptr<File>& file);
    void sync_has_failed(const std::string& failure);
    void write_now();

    core::EventLoop* loop_;
    core::BlockingJobs jobs_;
    Hooks hooks_;
    std::string folder_;
    std::shared_ptr<File> file_;
    std::vector<Batch> batches_;  // not yet written, in order
    std::string failure_;
    std::size_t waiting_bytes_ = 0;  // appended in this turn, or while a job is out
    std::uint64_t number_ = 0;
    std::uint64_t bytes_ = 0;  // of the present file, with what is not yet written
    Sync sync_ = Sync::no;
    std::shared_ptr<File> written_;  // the one written to last (not `always`)
    bool is_unsynced_ = false;       // what was written to it since its last sync began
    bool busy_ = false;              // a job is out
    bool sync_failed_ = false;
    int ticks_ = 0;
};

}  // namespace kv
