// FileVariants: has files compressed in the background, and puts the results beside them.
//
//   want() -> errand on the compressing pool: open the file again, look whether it is the one that
//             is known, ask the store, else read and compress it -> FileCache::add_variant
//
// The answers given meanwhile are made of what is there. A hot compressed file is a hot file: its
// bytes are in memory beside the plain ones, with fields and a tag of their own.
//
// Owner    The handler; one per loop.
// Thread   The loop's.
// Errors   A file that changed, a queue that is full, no memory: asked for again when the path is
//          next compared with the disk.
// Limits   jobs_max at a time; PathRules::compress says how large a file may be.
// Memory   For each thread of the pool: one encoder and the result. The source is read in pieces.
#pragma once

#include <atomic>
#include <cstdint>

#include "tiderace/core/errands.h"
#include "tiderace/http/handler/file_cache.h"
#include "tiderace/http/handler/variant_store.h"

namespace tiderace::http::handler {

class FileVariants {
  public:
    static constexpr std::size_t jobs_max = 64;

    FileVariants(core::EventLoop& loop, FileCache& cache, VariantStore& store,
                 core::WorkerPool& pool);
    // Waits for a job that runs, which stops at its next piece.
    ~FileVariants();

    // Has it made, unless that was tried already.
    void want(ResolvedPath& path, wire::ContentCoding coding);

  private:
    class Job;

    void cache_take(Job& job);

    core::EventLoop* loop_;
    FileCache* cache_;
    VariantStore* store_;
    std::atomic<bool> stopping_ = false;
    core::Errands errands_;
};

}  // namespace tiderace::http::handler
