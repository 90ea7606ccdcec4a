// Internal. FileVariants: compresses files in the background, and puts the results beside them.
//
//   want() -> job on the compressing pool: open the file again, check that it is the known one, ask
//             the store, else read and compress it -> FileCache::add_variant
//
// Answers given meanwhile use the variants that exist. A hot compressed file is a hot file: its
// bytes are in memory beside the plain ones, with fields and a tag of their own.
//
// Owner    The handler; one per loop.
// Thread   The loop's.
// Errors   A file that changed, a full queue, no memory: requested again when the path is next
//          compared with the disk.
// Limits   jobs_max at a time; PathRules::compress bounds the size of a file.
// Memory   For each thread of the pool: one encoder and the result. The source is read in pieces.
// Keywords: precompressed, background compression, brotli, gzip, zstd
#pragma once

#include <atomic>
#include <cstdint>

#include "tiderace/core/blocking_jobs.h"
#include "tiderace/http/files/file_cache.h"
#include "tiderace/http/files/variant_store.h"

namespace tiderace::http::files {

class FileVariants {
  public:
    static constexpr std::size_t jobs_max = 64;

    FileVariants(core::EventLoop& loop, FileCache& cache, VariantStore& store,
                 core::WorkerPool& pool);
    // Waits for a running job, which stops at its next piece.
    ~FileVariants();

    // Starts compressing it, unless that was tried already.
    void want(ResolvedPath& path, wire::ContentCoding coding);

  private:
    class Job;

    void cache_take(Job& job);

    core::EventLoop* loop_;
    FileCache* cache_;
    VariantStore* store_;
    std::atomic<bool> stopping_ = false;
    core::BlockingJobs jobs_;
};

}  // namespace tiderace::http::files
