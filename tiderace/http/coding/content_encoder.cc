#include "tiderace/http/coding/content_encoder.h"

#include <string>

#include "tiderace/http/coding/encoders.h"

namespace tiderace::http::coding {
namespace {

using wire::ContentCoding;

// Raised by hand when a level, a window or the size of a piece given to an encoder changes.
constexpr ByteView levels = " levels 1";

std::string recipe(ByteView library, ByteView version) {
    if (version.empty()) return {};
    return std::string(library).append(" ").append(version).append(levels);
}

}  // namespace

wire::AvailableCodings built_in_codings() {
    return {.gzip = !zlib_release().empty(),
            .zstd = !zstd_release().empty(),
            .br = !brotli_release().empty()};
}

std::unique_ptr<ContentEncoder> make_encoder(ContentCoding coding, Purpose purpose) {
    switch (coding) {
        case ContentCoding::gzip:
            return make_gzip_encoder(purpose);
        case ContentCoding::zstd:
            return make_zstd_encoder(purpose);
        case ContentCoding::br:
            return make_brotli_encoder(purpose);
        case ContentCoding::identity:
            break;
    }
    return nullptr;
}

ByteView recipe_of(ContentCoding coding) {
    static const std::string gzip = recipe("zlib", zlib_release());
    static const std::string zstd = recipe("zstd", zstd_release());
    static const std::string br = recipe("brotli", brotli_release());
    switch (coding) {
        case ContentCoding::gzip:
            return gzip;
        case ContentCoding::zstd:
            return zstd;
        case ContentCoding::br:
            return br;
        case ContentCoding::identity:
            break;
    }
    return {};
}

}  // namespace tiderace::http::coding
