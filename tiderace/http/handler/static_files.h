// Internal. StaticFiles: answers with the files beneath one directory.
//
//   canonical path -> FileCache (what does it stand for?) -> file_answer.h   a file
//                                                         -> listing.h       a directory
//                                                         -> 301, 404, 403, 503
//
// GET, HEAD and OPTIONS. Nothing outside the root is ever opened, nor what is no regular file.
// Names that begin with a dot do not exist for it, unless PathRules::hidden allows them.
//
// Owner    The program; one per loop.
// Thread   The loop's.
// Errors   create() fails when the root cannot be opened. A fault of the machine is answered with
//          503 (too few descriptors, too little memory) or 500. Where memory is missing even for
//          that, handle() throws bad_alloc.
// Limits   FileCacheLimits, ListingLimits.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tiderace/base/result.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/files/cached_file.h"
#include "tiderace/http/files/disk_reads.h"
#include "tiderace/http/files/file_cache.h"
#include "tiderace/http/files/file_variants.h"
#include "tiderace/http/files/file_watch.h"
#include "tiderace/http/files/root_directory.h"
#include "tiderace/http/handler.h"
#include "tiderace/http/listing/room.h"

namespace tiderace::http::handler {

struct StaticFilesOptions {
    // Followed to another directory when that is reported, and as often as files are compared with
    // the disk.
    std::string root = ".";
    // Prefix of the requests' paths, "/static"; every path has it. "": none.
    std::string prefix = {};
    files::PathRules paths;
    core::Links links = core::Links::inside;
    // The file (a path such as "/index.html") that answers for what is missing, so that a
    // single-page application can have addresses of its own. Not for names with an extension,
    // unless the client asks for HTML: a missing script stays a 404. "" for none.
    std::string spa;
    bool listing = false;
    listing::ListingLimits listings;
    // An answer in memory up to this is copied behind its head, one larger is sent from where it
    // is.
    std::size_t small_copy_bytes_max = files::small_copy_bytes_default;
    files::FileCacheLimits cache;
    // Of a loop's caches together; they outlive the handler. nullptr: its cache has its own.
    files::FileCacheCounters* cache_counters = nullptr;
    // Unused if every request reads the disk (cache.revalidate == 0).
    files::FileWatchOptions watch;
    // Where the disk is waited for, and large directories are sorted; it outlives the handler.
    // None: on the loop.
    core::WorkerPool* pool = nullptr;
    // Where files are compressed (PathRules::compress), and what all loops know of the results;
    // both outlive the handler. None: nothing is compressed.
    core::WorkerPool* compress_pool = nullptr;
    files::VariantStore* variants = nullptr;
};

class StaticFiles final : public Handler {
  public:
    static Result<std::unique_ptr<StaticFiles>> create(core::EventLoop& loop,
                                                       StaticFilesOptions options);

    void handle(Exchange& exchange) override { handle_as(exchange, path_of(exchange.request())); }
    // Answers as for this canonical path beneath the root, which the request's own stands for.
    void handle_as(Exchange& exchange, ByteView path);
    // The file that a path stands for, without an answer. An alias is a folder's index, or a page.
    files::StandsFor look(Exchange& exchange, ByteView path);
    void redirect_to_slash(Exchange& exchange) const;
    // Answers with a regular file beneath `folder` ("/a/b/"), which the request's path begins with:
    // no index, fallback, listing or redirect, and no link that leaves the folder. Uncached.
    void handle_only_beneath(ByteView folder, Exchange& exchange);

    // Another share of the loop's memory and descriptors: bytes_max, descriptors_max and room.
    void set_share(const files::FileCacheLimits& share) {
        room_->set_limits(share.room);
        cache_.set_share(share.bytes_max, share.descriptors_max);
    }

    const files::FileCache& cache() const { return cache_; }
    // nullptr: nothing is watched.
    const files::FileWatch* watch() const { return watch_ ? &*watch_ : nullptr; }

  private:
    StaticFiles(core::EventLoop& loop, files::RootDirectory root, StaticFilesOptions options);

    void answer(Exchange& exchange, ByteView path);
    void begin(const Request& request);
    ByteView path_of(const Request& request) const {
        ByteView path = request.path;
        TR_CHECK(options_.prefix.empty() || path.starts_with(options_.prefix),
                 "files answer what is below their prefix");
        path.remove_prefix(options_.prefix.size());
        return path;
    }
    void drop_caches();
    void follow_root() {
        if (root_is_due()) compare_root();
    }
    void compare_root();
    core::Ref<files::ResolvedPath> resolve(ByteView path);
    bool root_is_due() const {
        return loop_->now() - root_looked_at_ >= options_.cache.revalidate ||
               (watch_ && watch_->root_may_differ());
    }
    files::FileVariants* variants() { return variants_ ? &*variants_ : nullptr; }
    void answer_missing(Exchange& exchange);
    void answer_directory(Exchange& exchange, ByteView path);

    core::EventLoop* loop_;
    files::RootDirectory root_;
    Instant root_looked_at_;
    StaticFilesOptions options_;
    core::Ref<files::FileBudget> room_;
    files::FileCache cache_;
    std::optional<files::FileWatch> watch_;
    files::DiskReads disk_;
    std::optional<files::FileVariants> variants_;
    std::shared_ptr<listing::ListingRoom> listings_;
};

// One folder of a StaticFiles as a handler of its own: the regular files beneath it, nothing else.
class OnlyBeneath final : public Handler {
  public:
    // `files` outlives this.
    OnlyBeneath(StaticFiles& files, ByteView folder) : files_(&files), folder_(folder) {}

    void handle(Exchange& exchange) override { files_->handle_only_beneath(folder_, exchange); }

  private:
    StaticFiles* files_;
    std::string folder_;
};

}  // namespace tiderace::http::handler
