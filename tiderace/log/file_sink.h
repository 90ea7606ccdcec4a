// Internal. FileSink: appends to a file; reopens it when another program moved it; rotates it by
// size.
//
//   access.log -> access.log.1 -> … -> access.log.N -> gone        only at the start of a line
//
// Errors   A full disk or a missing directory: as for any Sink. When rotation fails, the file grows
//          on and the fault is logged. Opened non-blocking, so an unread pipe cannot block it.
// Limits   With rotation, files_kept + 1 files of rotate_bytes, plus one batch of the writer.
// Keywords: rotation, logrotate, log file
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tiderace/log/sink.h"

namespace tiderace::log {

struct FileSinkOptions {
    std::string path;
    std::uint64_t rotate_bytes = 0;  // 0: never
    unsigned files_kept = 5;         // old ones, path.1 being the newest; 0: the old one is deleted
    unsigned mode = 0640;            // of files it creates, before the umask
    // Opens `path` for appending, non-blocking, instead of open(2): a descriptor, or -1 and errno.
    // For a process that gave up the right to.
    std::function<int(const std::string& path)> open = {};
};

class FileSink final : public Sink {
  public:
    static Result<std::unique_ptr<FileSink>> open(FileSinkOptions options);
    ~FileSink() override;

    Written write(ByteView lines) override;
    Result<> reopen() override;
    // As FileSinkOptions has them. Any thread.
    void set_rotation(std::uint64_t rotate_bytes, unsigned files_kept);

  private:
    explicit FileSink(FileSinkOptions options)
        : options_(std::move(options)),
          rotate_bytes_(options_.rotate_bytes),
          files_kept_(options_.files_kept) {}

    Result<> rotate();
    std::string old_path(unsigned number) const;
    std::size_t rest_of_cut_line(ByteView lines) const;

    FileSinkOptions options_;
    std::atomic<std::uint64_t> rotate_bytes_;
    std::atomic<unsigned> files_kept_;
    int descriptor_ = -1;
    std::uint64_t size_bytes_ = 0;
    bool regular_ = false;      // no pipe and no device: can be rotated
    bool inside_line_ = false;  // a line was taken in part
    bool skip_line_ = false;    // … and its other part belongs to a file that is no longer ours
};

}  // namespace tiderace::log
