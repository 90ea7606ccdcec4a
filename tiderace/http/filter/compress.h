// Compress: sends made answers in the coding that the client likes best (RFC 9110 section 12.5.3).
//
//   small body      compressed at once, with a Content-Length
//   larger, or made while it is sent -> CompressedBody (compressed_body.h), without one
//
// Only answers of 2xx with a compressible Content-Type, except answers with a Content-Encoding, a
// Content-Range or a digest, with Cache-Control: no-transform, under bytes_min, or that a handler
// has set as they are (Response::set_as_is; static files: they have compressed variants of their
// own). An answer that may be compressed has Vary: Accept-Encoding even when it is not, and so has
// a 304. A strong ETag becomes a weak one, so that a handler's own comparison of If-None-Match
// still holds.
//
// A secret beside something that the client chose should not be compressed over TLS (BREACH): use
// no-transform.
//
// Owner    The program; one per loop. The last of the filters.
// Thread   The loop's.
// Limits   CompressOptions; the pool's loans. Answers above them go out uncompressed.
// Keywords: gzip, brotli, zstd, Vary, Accept-Encoding
#pragma once

#include "tiderace/http/coding/encoder_pool.h"
#include "tiderace/http/stages.h"
#include "tiderace/http/wire/accept.h"

namespace tiderace::http::filter {

struct CompressOptions {
    wire::AvailableCodings codings = coding::built_in_codings();
    std::uint64_t bytes_min = wire::coded_bytes_min;  // a shorter body is not worth it
    std::uint64_t at_once_bytes_max = 64_KiB;         // about a millisecond
};

class Compress final : public ResponseFilter {
  public:
    Compress(core::Ref<coding::EncoderPool> pool, const CompressOptions& options)
        : pool_(std::move(pool)), options_(options) {}

    void filter(Exchange& exchange, Response& response) override;

  private:
    bool may_compress(Response& response) const;
    bool compress(Exchange& exchange, Response& response, wire::ContentCoding coding);
    bool compress_at_once(Exchange& exchange, Response& response, wire::ContentCoding coding);

    core::Ref<coding::EncoderPool> pool_;
    CompressOptions options_;
};

}  // namespace tiderace::http::filter
