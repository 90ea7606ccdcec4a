// Internal. ContentDecoder: bytes of one content coding in, the content out, as much as there is
// room for.
//
//   step(piece, room)    …    the rest of the piece again, until it is used and nothing was made
//
// Owner    Its maker; one for each body.
// Thread   One at a time.
// Errors   The peer's: `failed`, and again with every step after it. Bytes behind the end fail.
// Limits   A window of at most window_bytes_max. The caller counts the decoded bytes.
// Memory   The window and some 50 KiB: gzip 32 KiB, brotli up to 16 MiB, zstd up to 8 MiB.
// Keywords: decompression, zip bomb, Content-Encoding, gzip, brotli, zstd
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/accept.h"

namespace tiderace::http::coding {

class ContentDecoder {
  public:
    static constexpr std::size_t window_bytes_max = 16_MiB;

    struct Step {
        std::size_t used = 0;
        std::size_t made = 0;
        bool failed = false;
    };

    virtual ~ContentDecoder() = default;
    // `out` is not empty.
    virtual Step step(ByteView in, std::span<char> out) = 0;
    // The content ended where a content may end.
    virtual bool ended() const = 0;
    // The memory that it has allocated by now: it takes its window when the content shows its size.
    virtual std::size_t held_bytes() const = 0;
};

// The codings whose libraries were there when this was built.
wire::AvailableCodings built_in_decodings();

// nullptr: not built in, or no memory. Not for identity.
std::unique_ptr<ContentDecoder> make_decoder(wire::ContentCoding coding);

// The makers behind it, one for each library.
std::unique_ptr<ContentDecoder> make_gzip_decoder();
std::unique_ptr<ContentDecoder> make_brotli_decoder();
std::unique_ptr<ContentDecoder> make_zstd_decoder();

}  // namespace tiderace::http::coding
