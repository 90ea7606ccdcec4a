#include "tiderace/http/coding/content_encoder.h"

#include <charconv>
#include <string>

#include "tiderace/http/coding/encoders.h"

namespace tiderace::http::coding {
namespace {

using wire::ContentCoding;

// Raised by hand when a level, a window or the size of a piece given to an encoder changes.
constexpr ByteView levels = " levels 2";

std::string recipe(ByteView library, ByteView version) {
    if (version.empty()) return {};
    return std::string(library).append(" ").append(version).append(levels);
}

// identity has neither recipe nor suffix, because nothing is encoded.
ByteView of_coding(ContentCoding coding, ByteView gzip, ByteView zstd, ByteView br) {
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

// "gzip-3fa1b20c"; FNV-1a, 32 bits: it only has to differ.
std::string tag_suffix(ContentCoding coding) {
    std::uint32_t digest = 2'166'136'261;
    for (const char c : recipe_of(coding)) {
        digest = (digest ^ static_cast<unsigned char>(c)) * 16'777'619;
    }
    char digits[8];
    const auto end = std::to_chars(digits, digits + sizeof digits, digest, 16).ptr;
    return std::string(wire::coding_name(coding)).append("-").append(digits, end);
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
    return of_coding(coding, gzip, zstd, br);
}

ByteView tag_suffix_of(ContentCoding coding) {
    static const std::string gzip = tag_suffix(ContentCoding::gzip);
    static const std::string zstd = tag_suffix(ContentCoding::zstd);
    static const std::string br = tag_suffix(ContentCoding::br);
    return of_coding(coding, gzip, zstd, br);
}

}  // namespace tiderace::http::coding
