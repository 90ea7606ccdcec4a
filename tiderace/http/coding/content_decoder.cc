#include "tiderace/http/coding/content_decoder.h"

namespace tiderace::http::coding {

wire::AvailableCodings built_in_decodings() {
    wire::AvailableCodings codings;
#if TIDERACE_HAVE_ZLIB
    codings.gzip = true;
#endif
#if TIDERACE_HAVE_ZSTD
    codings.zstd = true;
#endif
#if TIDERACE_HAVE_BROTLI
    codings.br = true;
#endif
    return codings;
}

std::unique_ptr<ContentDecoder> make_decoder(wire::ContentCoding coding) {
    switch (coding) {
        case wire::ContentCoding::gzip:
            return make_gzip_decoder();
        case wire::ContentCoding::zstd:
            return make_zstd_decoder();
        case wire::ContentCoding::br:
            return make_brotli_decoder();
        case wire::ContentCoding::identity:
            break;
    }
    return nullptr;
}

}  // namespace tiderace::http::coding
