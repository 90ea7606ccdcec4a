#include "examples/kv/append_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace kv {
namespace {

using tiderace::Error;
using tiderace::fail;

// A turn's text leaves its memory to the next turn up to this size: most turns write little.
constexpr std::size_t buffer_kept_max = 1 << 20;

// fdatasync() leaves out the time of change, which nothing here reads; macOS does not have it.
int sync_data(int fd) {
#if defined(__APPLE__)
    return ::fsync(fd);
#else
    return ::fdatasync(fd);
#endif
}

Result<> sync_path(const std::string& path, int flags) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0) return fail(Error::last("open", path));
    const int failed = ::fsync(fd);
    const Error error = Error::last("sync", path);  // before close() changes errno
    ::close(fd);
    if (failed != 0) return fail(error);
    return {};
}

}  // namespace

std::string log_path(const std::string& folder, std::uint64_t number) {
    return folder + "/log-" + std::to_string(number);
}

Result<> sync_folder(const std::string& folder) {
    return sync_path(folder, O_DIRECTORY);
}

Result<> sync_file(const std::string& path) {
    return sync_path(path, 0);
}

class AppendLog::File {
  public:
    File(int fd, std::string path, std::uint64_t bytes)
        : fd_(fd), path_(std::move(path)), bytes_(bytes) {}
    ~File() { ::close(fd_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    std::uint64_t bytes() const { return bytes_; }

    // All of it or nothing: a part is cut off again.
    Result<> write(ByteView text) {
        if (is_torn_) {
            if (auto cut = cut_back(); !cut) return cut;
        }
        const std::size_t whole = text.size();
        while (!text.empty()) {
            const ssize_t written = ::write(fd_, text.data(), text.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) {
                const Error error = Error::last("write", path_);
                if (auto cut = cut_back(); !cut) return cut;
                return fail(error);
            }
            text.remove_prefix(static_cast<std::size_t>(written));
        }
        bytes_ += whole;
        return {};
    }
    Result<> sync() {
        if (sync_data(fd_) != 0) return fail(Error::last("sync", path_));
        return {};
    }

  private:
    // A part of a command in the middle of the log could not be replayed.
    Result<> cut_back() {
        is_torn_ = ::ftruncate(fd_, static_cast<off_t>(bytes_)) != 0;
        if (is_torn_) return fail(Error::last("cut back", path_));
        return {};
    }

    int fd_;
    std::string path_;
    std::uint64_t bytes_;
    bool is_torn_ = false;  // a part may stand behind the last whole command
};

class AppendLog::Job final : public core::BlockingJob {
  public:
    Job(AppendLog& log, std::vector<Batch> batches) : log_(&log), batches_(std::move(batches)) {}

  private:
    void work() override {
        for (const Batch& batch : batches_) {
            Result<> done;
            // Without a text (everysec) the loop may write to the file meanwhile: only its
            // descriptor is shared.
            if (!batch.text.empty()) done = batch.file->write(batch.text);
            if (done) done = batch.file->sync();
            if (!done) {
                failure_ = done.error().message();
                return;
            }
        }
    }
    void done() override { log_->job_done(failure_); }

    AppendLog* log_;
    std::vector<Batch> batches_;
    std::string failure_;
};

AppendLog::AppendLog(core::EventLoop& loop, core::WorkerPool& pool, Hooks hooks)
    : loop_(&loop), jobs_(loop, pool, 1), hooks_(std::move(hooks)) {}

AppendLog::~AppendLog() {
    loop_->forget_turn_end(*this);
    // A job is out and may fail: written behind it, these would stand behind a gap. No answer to
    // them was sent.
    if (busy_ && sync_ == Sync::always) return;
    if (written_ != nullptr && (is_unsynced_ || busy_) && !written_->sync()) return;
    // Each behind the ones before it, or not at all.
    for (const Batch& batch : batches_) {
        if (!batch.file->write(batch.text) || !batch.file->sync()) return;
    }
}

Result<> AppendLog::open(const std::string& folder, std::uint64_t number, Sync sync) {
    folder_ = folder;
    sync_ = sync;
    if (auto rotated = rotate(number); !rotated) return rotated;
    // Syncs the bytes that a killed program had not synced.
    return bytes_ > 0 ? file_->sync() : Result<>();
}

Result<> AppendLog::rotate(std::uint64_t number) {
    const std::string path = log_path(folder_, number);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, data_mode);
    if (fd < 0) return fail(Error::last("open", path, "see --dir"));
    const off_t bytes = ::lseek(fd, 0, SEEK_END);
    auto file = std::make_shared<File>(fd, path, static_cast<std::uint64_t>(bytes));
    // The name of a new file is the folder's data, so it is synced apart from the file.
    if (auto synced = sync_folder(folder_); !synced) return synced;
    // Waiting commands belong to the old file.
    if (sync_ != Sync::always) write_now();
    file_ = std::move(file);
    number_ = number;
    bytes_ = file_->bytes();
    // Soon: what is appended from now on waits for it.
    if (is_unsynced_ && !busy_) start_sync();
    return {};
}

void AppendLog::append(ByteView command) {
    // A batch keeps its file, so that commands from before a rotation still reach the old one.
    if (batches_.empty() || batches_.back().file != file_) batches_.push_back({file_, {}});
    batches_.back().text += command;
    bytes_ += command.size();
    waiting_bytes_ += command.size();
    loop_->assert_on_loop();
    loop_->at_turn_end(*this);
}

//   Sync::always  append -> turn's end -> job: write, fdatasync -> ended: answers leave
//   others        append -> turn's end: write                   -> ended: answers leave
//
// At the turn's end, so that the commands of one turn make one write.
void AppendLog::on_turn_end() {
    if (sync_ != Sync::always) {
        write_now();
        if (waiting_bytes_ > 0) return;  // job_done() comes here again
        hooks_.started();
        hooks_.ended();
    } else if (!busy_ && !batches_.empty()) {
        start_job();
    }
}

// One job at a time: what comes meanwhile is gathered, so that one sync serves many clients ("group
// commit").
void AppendLog::start_job() {
    hooks_.started();
    waiting_bytes_ = 0;
    std::unique_ptr<core::BlockingJob> job =
        std::make_unique<Job>(*this, std::exchange(batches_, {}));
    busy_ = static_cast<bool>(jobs_.start(job));
    if (busy_) return;
    // The machine has no thread for us: do it here.
    job->work();
    job->done();
}

void AppendLog::job_done(const std::string& failure) {
    busy_ = false;
    if (!failure.empty()) {
        if (sync_ == Sync::always) {
            std::fprintf(stderr, "kv: %s; commands were executed that cannot be kept: ending\n",
                         failure.c_str());
            // _Exit: destructors would write the batches behind the gap.
            std::_Exit(1);
        }
        sync_has_failed(failure);
    }
    if (sync_ != Sync::always) {
        if (waiting_bytes_ > 0) on_turn_end();  // for the sync of the file before
        return;
    }
    hooks_.ended();
    if (!batches_.empty()) {
        start_job();
        return;
    }
    // Answers that were made meanwhile, by commands that changed nothing: all that they may have
    // read is synced.
    hooks_.started();
    hooks_.ended();
}

void AppendLog::sync_has_failed(const std::string& failure) {
    std::fprintf(stderr, "kv: %s; writes are refused until kv is started again\n", failure.c_str());
    failure_ = failure;
    sync_failed_ = true;
}

// False: the machine has no thread for it.
bool AppendLog::start_sync() {
    std::vector<Batch> batches;
    batches.push_back({written_, {}});
    std::unique_ptr<core::BlockingJob> job = std::make_unique<Job>(*this, std::move(batches));
    busy_ = static_cast<bool>(jobs_.start(job));
    if (busy_) is_unsynced_ = false;
    return busy_;
}

// False: the file before it is not synced, and job_done() will go on.
bool AppendLog::may_write_to(const std::shared_ptr<File>& file) {
    // After a sync that failed there is nothing to wait for, and the commands were executed.
    if (written_ == nullptr || written_ == file || sync_failed_) return true;
    if (busy_ || (is_unsynced_ && start_sync())) return false;
    if (std::exchange(is_unsynced_, false)) {
        if (auto synced = written_->sync(); !synced) sync_has_failed(synced.error().message());
    }
    return true;
}

void AppendLog::write_now() {
    while (!batches_.empty()) {
        Batch& batch = batches_.front();
        if (!batch.text.empty() && !may_write_to(batch.file)) return;
        if (auto written = batch.file->write(batch.text); !written) {
            if (failure_.empty()) {
                std::fprintf(stderr, "kv: %s; writes are refused until it succeeds\n",
                             written.error().message().c_str());
            }
            failure_ = written.error().message();
            waiting_bytes_ = 0;  // refused writes are answered, and so are those before them
            return;
        }
        if (!batch.text.empty()) {
            written_ = batch.file;
            is_unsynced_ = true;
        }
        if (batches_.size() == 1 && batch.text.capacity() <= buffer_kept_max) {
            batch.text.clear();
            if (batch.file == file_) break;  // its memory is used again
        }
        batches_.erase(batches_.begin());
    }
    waiting_bytes_ = 0;
    if (sync_failed_) return;
    if (!failure_.empty()) std::fputs("kv: the log can be written again\n", stderr);
    failure_.clear();
}

void AppendLog::tick() {
    // While writes are refused hardly anything is appended, so no turn's end would try again.
    if (failed() && sync_ != Sync::always) write_now();
    // A tick is 100 ms (server.cc).
    if (++ticks_ % 10 != 0 || sync_ != Sync::everysec || !is_unsynced_ || busy_) return;
    start_sync();  // without a thread for it: a second later
}

}  // namespace kv
