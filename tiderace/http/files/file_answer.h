// FileAnswer: the answer about one file (RFC 9110 sections 8, 12, 13 and 14). A method other than
// GET and HEAD, after whose work a handler shows a file, gets all of it.
//
//   representation (Accept-Encoding, siblings) -> preconditions (304, 412) -> range (206, 416) ->
//   200
//
// Thread   The loop's.
// Keywords: 304, 412, 416, 206, If-None-Match, Range
#pragma once

#include "tiderace/http/exchange.h"
#include "tiderace/http/files/disk_reads.h"
#include "tiderace/http/files/file_variants.h"
#include "tiderace/http/files/path_resolver.h"

namespace tiderace::http::files {

// `path` stands for a file. `variants` compresses it as `path.makes` allows, unless it is nullptr.
// A body in memory of up to `small_copy_bytes_max` is sent in one copy with the head.
void answer_file(Exchange& exchange, ResolvedPath& path, std::size_t small_copy_bytes_max,
                 DiskReads& disk, FileVariants* variants = nullptr);

// How one file is answered that is in no cache.
struct OneFile {
    ByteView name;  // for its extension
    ByteView content_type;
    ByteView cache_control = {};           // "" for none
    ByteView disposition = {};             // likewise, a Content-Disposition
    std::uint64_t sendfile_bytes_min = 0;  // below this it is read into memory
    std::size_t small_copy_bytes_max = 0;
};
// As above, about an `opened` with Found::file. Without room for it, answer_fault().
void answer_opened(Exchange& exchange, const FileLoader& loader, FileLoader::Opened&& opened,
                   const OneFile& how, DiskReads& disk);

// A fault of the machine: 503 with Retry-After while it is short of descriptors or memory, or 500.
void answer_fault(Exchange& exchange, int error);

// Renders the fields of whole answers about `path` once, for all later ones.
void render_fields(ResolvedPath& path, UnixSeconds now);

}  // namespace tiderace::http::files
