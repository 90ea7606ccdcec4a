// Cache-Control (RFC 9111 section 5.2), as far as a server has to understand what it sends itself.
//
// Thread   Any; no state.
// Memory   None.
// Keywords: max-age, caching, immutable
#pragma once

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

// no-transform: the content must not be recoded.
bool forbids_transform(ByteView cache_control);

}  // namespace tiderace::http::wire
