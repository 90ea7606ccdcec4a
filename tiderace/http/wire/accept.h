// Internal. Content negotiation (RFC 9110 sections 12.4 and 12.5): quality values, Accept-Encoding,
// Accept.
//
// A piece of a field that is not well-formed counts as not there; the rest still counts.
//
// Thread   Any; no state.
// Memory   None.
// Keywords: 406, Accept-Encoding, content negotiation, q-values, gzip, brotli
#pragma once

#include <cstdint>

#include "tiderace/base/bytes.h"

namespace tiderace::http::wire {

// In the order of preference among equals, least first: each is smaller than the one before.
enum class ContentCoding : std::uint8_t { identity, gzip, zstd, br };

// As Content-Encoding says it; "" for identity.
ByteView coding_name(ContentCoding coding);

// The default of what a body must have to be coded: a shorter one leaves in one packet anyway.
inline constexpr std::uint64_t coded_bytes_min = 1'024;

struct AvailableCodings {
    bool gzip = false;
    bool zstd = false;
    bool br = false;

    bool any() const { return gzip || zstd || br; }
    bool operator==(const AvailableCodings&) const = default;
};

struct CodingChoice {
    ContentCoding coding = ContentCoding::identity;
    // False: the peer said that it does not want the plain bytes. `coding` is identity all the same
    // when nothing else suits: plain bytes help more than a 406.
    bool identity_acceptable = true;
};

// The best of `available` and identity for this Accept-Encoding, "" when there is none: the highest
// quality wins, and among equals the smallest. Identity, if the field does not name it, comes last.
CodingChoice choose_coding(ByteView accept_encoding, AvailableCodings available);

inline constexpr int quality_max = 1000;  // q=1

// How much the peer that sent this Accept wants `media_type` ("text/html"), 0 to quality_max: what
// its most specific range says ("text/html" before "text/*" before "*/*"); parameters other than q
// are ignored. A peer without Accept wants everything.
int quality_of(ByteView accept, ByteView media_type);

// Whether an error or a listing should be JSON rather than HTML: JSON is wanted more, or as much
// and named more exactly. "*/*" alone gets HTML.
bool prefers_json(ByteView accept);

}  // namespace tiderace::http::wire
