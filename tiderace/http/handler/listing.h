// Listing: what is in a directory, as a page for people or as JSON, as the client asks (Accept).
//
//   ?sort=name|size|time & order=asc|desc
//
// Streamed in constant memory: the rows are made while they are sent, a batch ahead, by threads of
// the pool, for each entry may cost a look at the disk. A directory of up to `sorted_max` entries
// is sorted; a larger one comes in the file system's own order, and says so. Entries that vanish
// meanwhile, that we would not serve, or that are hidden do not show.
//
// Thread   The loop's. Without `errands` the work is done on the loop.
// Errors   A directory that cannot be read is answered with 403, 500 or 503 before it begins; a
//          fault later ends the rows, and says so below them. Too many at a time: 503.
// Limits   ListingLimits, for all of a loop.
// Memory   Names of up to sorted_max entries, 32 KiB of the directory, two batches of 56 KiB.
#pragma once

#include <memory>

#include "tiderace/core/errands.h"
#include "tiderace/http/exchange.h"
#include "tiderace/http/handler/file_loader.h"
#include "tiderace/http/handler/listing_room.h"

namespace tiderace::http::handler {

struct ListingOptions {
    ByteView path;        // canonical, ends with '/'
    bool hidden = false;  // show names that begin with a dot
    std::shared_ptr<ListingRoom> room;
};

// `loader` is copied; its root must outlive the answer, and the pool's work for it.
void answer_listing(Exchange& exchange, const FileLoader& loader, const ListingOptions& options,
                    core::Errands* errands = nullptr);

}  // namespace tiderace::http::handler
