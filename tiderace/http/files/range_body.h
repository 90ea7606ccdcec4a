// RangeBody: a part of a file, or several, as a response's body (RFC 9110 section 14).
//
// Thread   The loop's.
// Limits   wire::ranges_max parts.
// Memory   One part: nothing. Several: the heads between them, in one piece of some 200 bytes each.
// Keywords: 206, multipart/byteranges, Content-Range
#pragma once

#include "tiderace/http/files/cached_file.h"
#include "tiderace/http/response.h"
#include "tiderace/http/wire/range.h"

namespace tiderace::http::files {

// Makes `response` a 206 with these ranges of `file`: status, Content-Range or a multipart
// Content-Type. Returns its body.
core::SendQueue make_range_body(Response& response, const wire::RangeSet& ranges, CachedFile& file,
                                ByteView content_type);

}  // namespace tiderace::http::files
