// Internal. DiskReads: keeps a loop from waiting for the disk while it sends files.
//
//   a body of file ranges -> in memory, or lately seen to be cached by the system -> as it is
//                         -> else a source: window by window, each checked before it is queued;
//                            one that is cold is first read by a thread of the pool
//
// Looking costs a few short reads (RWF_NOWAIT) a window, and for a file within one window at most
// once in resident_for. Opening files and asking for their status still happens on the loop
// (docs/decisions/0005-cold-files-by-the-pool.md).
//
// Owner    The handler; one per loop. It outlives the answers.
// Thread   The loop's.
// Errors   On a system that cannot report what it has cached (-EOPNOTSUPP), and with a full pool,
//          the loop reads, and waits. A fault of the pool's read shows when the bytes are sent.
// Limits   jobs_max reads and listings at a time.
// Memory   A block of read_bytes for each read in progress.
// Keywords: sendfile, page cache, cold disk, mincore
#pragma once

#include <cstdint>
#include <optional>

#include "tiderace/core/blocking_jobs.h"
#include "tiderace/http/exchange.h"
#include "tiderace/http/files/cached_file.h"

namespace tiderace::http::files {

class DiskReads {
  public:
    static constexpr std::uint64_t window_bytes = 4_MiB;
    static constexpr std::uint64_t cold_window_bytes = 1_MiB;  // so that the first byte comes soon
    static constexpr std::size_t read_bytes = 128_KiB;
    static constexpr std::size_t jobs_max = 1024;
    static constexpr Duration resident_for = 1s;

    // Without a pool nothing is sampled, and the loop reads.
    DiskReads(core::EventLoop& loop, core::WorkerPool* pool);

    // Makes `queue`, ranges of `file` and the text between them, the response's body.
    void set_body(Exchange& exchange, Response& response, core::SendQueue&& queue,
                  CachedFile& file);

    // For other work that may block: nullptr without a pool.
    core::BlockingJobs* jobs() { return jobs_ ? &*jobs_ : nullptr; }

  private:
    class WatchedBody;
    class ReadAhead;

    bool is_resident(CachedFile& file);
    bool is_resident(int fd, std::uint64_t offset, std::uint64_t bytes) const;

    core::EventLoop* loop_;
    std::optional<core::BlockingJobs> jobs_;
};

}  // namespace tiderace::http::files
