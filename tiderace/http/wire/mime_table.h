// The built-in media types by file extension. Look them up through mime.h.
//
// Where a registered type and what browsers insist on differ, browsers win. Source code is
// text/plain, so that it is shown and never run or downloaded; "ts" is video, as HLS players need
// it ("mts" and "tsx" are source code). XML carries its own encoding and so gets no charset.
// Keywords: MIME, file extension
#pragma once

#include <span>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

struct MimeEntry {
    ByteView extension;  // lower case, without the dot
    ByteView type;       // a whole Content-Type: text types name UTF-8
};

// Sorted by extension, each once. Lives forever.
std::span<const MimeEntry> builtin_mime_types();

}  // namespace tiderace::http::wire
