// MadeTag: an ETag for made answers, from their bytes, and 304 for a client that has them.
//
// For GET and HEAD with 200, a body in memory of at most body_bytes_max, and no ETag of their own.
// The tag is weak: a later filter may send the bytes in another coding.
//
// Owner    The program; one per loop.
// Thread   The loop's.
// Limits   body_bytes_max, because all of it is hashed: about 1 ms a MiB.
// Keywords: ETag, 304, If-None-Match
#pragma once

#include "tiderace/base/keyed_hash.h"
#include "tiderace/http/stages.h"

namespace tiderace::http::filter {

class MadeTag final : public ResponseFilter {
  public:
    static constexpr std::size_t body_bytes_max = 1_MiB;

    void filter(Exchange& exchange, Response& response) override;
};

}  // namespace tiderace::http::filter
