// Listing: what is in a directory, as a page for people or as JSON, as the client asks (Accept).
//
//   ?sort=name|size|time & order=asc|desc
//
// Streamed in constant memory: the rows are made while they are sent. A directory of up to
// `sorted_max` entries is sorted; a larger one comes in the file system's own order, and says so.
// Entries that vanish meanwhile, that we would not serve, or that are hidden do not show.
//
// Thread   The loop's.
// Errors   A directory that cannot be read is answered with 403, 500 or 503 before it begins; a
//          fault later ends the rows, and says so below them.
// Memory   Names of up to sorted_max entries, and two buffers of 32 KiB.
#pragma once

#include "tiderace/http/exchange.h"
#include "tiderace/http/handler/file_loader.h"

namespace tiderace::http::handler {

struct ListingOptions {
    ByteView path;        // canonical, ends with '/'
    bool hidden = false;  // show names that begin with a dot
    std::size_t sorted_max = 10'000;
};

// `loader` is copied; its root must outlive the answer.
void answer_listing(Exchange& exchange, const FileLoader& loader, const ListingOptions& options);

}  // namespace tiderace::http::handler
