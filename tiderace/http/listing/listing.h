// Listing: what is in a directory, as a page for people or as JSON, as the client asks (Accept).
//
//   ?sort=name|size|time & order=asc|desc
//
// Streamed in constant memory: threads of the pool make the rows while they are sent, a batch
// ahead, because each entry may cost a read of the disk. A directory of up to `sorted_max` entries
// is sorted; a larger one comes in the file system's own order, with a note. Entries that vanish
// meanwhile, that we would not serve, or that are hidden do not show.
//
// Thread   The loop's. Without `jobs` the work is done on the loop.
// Errors   A directory that cannot be read is answered with 403, 500 or 503 before the rows begin;
//          a later fault ends the rows with a note below them. Too many at a time: 503.
// Limits   ListingLimits, for all of a loop.
// Memory   Names of up to sorted_max entries, 32 KiB of the directory, two batches of 56 KiB.
// Keywords: directory listing, autoindex
#pragma once

#include <memory>

#include "tiderace/core/blocking_jobs.h"
#include "tiderace/http/exchange.h"
#include "tiderace/http/files/file_loader.h"
#include "tiderace/http/listing/room.h"

namespace tiderace::http::listing {

struct ListingOptions {
    ByteView path;        // canonical, ends with '/'
    bool hidden = false;  // show names that begin with a dot
    std::shared_ptr<ListingRoom> room;
};

// `loader` is copied; its root must outlive the answer, and the pool's work for it.
void answer_listing(Exchange& exchange, const files::FileLoader& loader,
                    const ListingOptions& options, core::BlockingJobs* jobs = nullptr);

}  // namespace tiderace::http::listing
