// The makers behind make_encoder(), one for each library. nullptr: not built in, or no memory.
//
// Thread   Any.
#pragma once

#include <memory>

#include "tiderace/http/coding/content_encoder.h"

namespace tiderace::http::coding {

std::unique_ptr<ContentEncoder> make_gzip_encoder(Purpose purpose);
std::unique_ptr<ContentEncoder> make_brotli_encoder(Purpose purpose);
std::unique_ptr<ContentEncoder> make_zstd_encoder(Purpose purpose);

// The libraries' own versions; "" for what is not built in.
ByteView zlib_release();
ByteView brotli_release();
ByteView zstd_release();

}  // namespace tiderace::http::coding
