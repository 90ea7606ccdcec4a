// Internal. FileCache: a loop's knowledge of requested paths, least recently used out first.
//
//   find(path) -> known and fresh: one hash look-up; an open file is checked once a turn
//              -> expired (file_watch.h), or older than `revalidate`: the disk is read; what did
//                 not change stays
//              -> unknown: resolved (path_resolver.h) and kept
//
// A file below sendfile_bytes_min goes into memory at its first request or, if the loop would have
// to wait for the disk, as soon as a thread has read it. A larger one, up to memory_file_bytes_max,
// is first sent from its descriptor, and goes into memory after hot_requests requests within
// hot_window. Still larger ones are always sent from their descriptors.
//
// Owner    The handler; one per loop, so that a file is loaded once per loop.
// Thread   The loop's.
// Errors   A path that the machine could not resolve is answered as `failed` and not kept. Any call
//          may throw bad_alloc, and leaves the cache whole.
// Limits   FileCacheLimits. Answers in progress keep their files, beyond the cache's own limit and
//          within the budget that all files of the loop have (file_budget.h).
// Keywords: open file cache, LRU
#pragma once

#include <cstdint>
#include <unordered_map>

#include "tiderace/base/keyed_hash.h"
#include "tiderace/base/loop_count.h"
#include "tiderace/http/files/path_resolver.h"

namespace tiderace::http::files {

class FileWatch;

struct FileCacheLimits {
    std::size_t bytes_max = 64_MiB;     // bytes of files, and what is known about paths
    std::size_t descriptors_max = 256;  // open files kept
    FileBudgetLimits room;              // for cached files and files still being sent
    std::size_t missing_max = 1024;     // paths known to be nothing
    std::uint64_t sendfile_bytes_min = 64_KiB;
    std::uint64_t memory_file_bytes_max = 4_MiB;
    int hot_requests = 3;
    Duration hot_window = 10s;
    Duration revalidate = 1s;  // zero: read the disk for each request
};

struct FileCacheCounters {
    LoopCount hits;
    LoopCount misses;
    LoopCount revalidated;  // checked a known path on the disk
    LoopCount changed;      // of these, how many had changed
    LoopCount evicted;
};

class FileCache {
  public:
    // Counts in `counters`, which outlive it and may be other caches', too; nullptr: in its own.
    FileCache(PathResolver resolver, const FileCacheLimits& limits,
              FileCacheCounters* counters = nullptr);
    ~FileCache();

    // Never none. `now` is the loop's time, `unix_now` its calendar time.
    core::Ref<ResolvedPath> find(ByteView path, Instant now, UnixSeconds unix_now);

    // Keeps `variant`, made of the file that `path` stood for, beside it. Does nothing if it stands
    // for another by now.
    void add_variant(ByteView path, const FileIdentity& of, wire::ContentCoding coding,
                     core::Ref<CachedFile> variant, UnixSeconds unix_now);
    // The cached knowledge of a path, without reading the disk; or nullptr.
    ResolvedPath* known(ByteView path);

    // Another share of the loop's memory and descriptors; the other limits stay.
    void set_share(std::size_t bytes_max, std::size_t descriptors_max);
    // Drops everything, to free memory. Files that are being sent live on.
    void drop_all();

    // Notified of each path before the disk is read for it. It outlives this, or none.
    void set_watch(FileWatch* watch) { watch_ = watch; }
    // Cached paths: one, those beneath a folder ("/a/": with itself), the missing ones, or all, are
    // compared with the disk at their next request.
    void expire(ByteView path);
    void expire_beneath(ByteView folder);
    void expire_missing();
    void expire_all() { expire_beneath("/"); }

    const FileLoader& loader() const { return resolver_.loader(); }
    const FileCacheCounters& counters() const { return *counters_; }
    std::size_t bytes() const { return bytes_; }
    std::size_t descriptors() const { return descriptors_; }
    std::size_t paths() const { return known_.size(); }

  private:
    core::Ref<ResolvedPath> refresh(ByteView path, ResolvedPath* previous, Instant now,
                                    UnixSeconds unix_now);
    bool descriptors_unchanged(const ResolvedPath& path) const;
    void warm(ResolvedPath& path, Instant now);
    void keep(const core::Ref<ResolvedPath>& path);
    void forget(ResolvedPath& path);
    void touch(ResolvedPath& path);
    void count(ResolvedPath& path);
    void uncount(ResolvedPath& path);
    bool drop_unused_descriptors(const ResolvedPath* but);
    void evict();
    IntrusiveList<ResolvedPath>& list_of(const ResolvedPath& path);

    core::Ref<ResolvedPath> ask_disk(ByteView path, ResolvedPath* previous, UnixSeconds unix_now);

    PathResolver resolver_;
    FileWatch* watch_ = nullptr;
    FileCacheLimits limits_;
    FileCacheCounters own_;
    FileCacheCounters* counters_;
    // Keys are views of the paths inside the values. Peers choose them: missing ones are also kept.
    std::unordered_map<ByteView, core::Ref<ResolvedPath>, KeyedHash> known_;
    ResolvedPath* last_ = nullptr;  // found last, while it is in known_
    // Least recently used first. Each known path is in one of them.
    IntrusiveList<ResolvedPath> in_memory_;
    IntrusiveList<ResolvedPath> with_descriptor_;
    IntrusiveList<ResolvedPath> missing_;
    std::size_t bytes_ = 0;
    std::size_t descriptors_ = 0;
    std::size_t missing_count_ = 0;
};

}  // namespace tiderace::http::files
