// Ranges of bytes (RFC 9110 section 14): read from a Range field, and written in an answer.
//
// An excessive request is not refused but answered with the whole file (200), as the RFC allows:
// more than ranges_max ranges, or ranges that together are more than the file holds. So no request
// makes an answer larger than the file and ranges_max heads.
//
// Thread   Any; no state.
// Errors   Kind::ignore: the field is not ours to understand, or not well-formed; answer 200.
// Limits   ranges_max.
// Memory   RangeResult holds its ranges: 264 bytes.
// Keywords: Range, 206, 416, Content-Range, Accept-Ranges
#pragma once

#include <array>
#include <cstdint>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/bounded_text.h"

namespace tiderace::http::wire {

inline constexpr std::size_t ranges_max = 16;

struct ByteRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;  // included; never below first

    std::uint64_t bytes() const { return last - first + 1; }
    bool operator==(const ByteRange&) const = default;
};

class RangeSet {
  public:
    // Joined with the one before it where they overlap or touch and ascend. At most ranges_max
    // calls.
    void add(ByteRange range);

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const ByteRange& operator[](std::size_t i) const { return ranges_[i]; }
    const ByteRange* begin() const { return ranges_.data(); }
    const ByteRange* end() const { return ranges_.data() + size_; }

  private:
    std::array<ByteRange, ranges_max> ranges_;
    std::size_t size_ = 0;
};

struct RangeResult {
    enum class Kind : std::uint8_t {
        ignore,         // answer 200 with everything
        satisfiable,    // answer 206: `ranges` holds at least one, each inside the file
        unsatisfiable,  // answer 416
    };
    Kind kind = Kind::ignore;
    RangeSet ranges;
};

// `field_value` of a GET's Range field, for a representation of `size` bytes. An empty one cannot
// be sent as a part of itself: a suffix of it is ignored, any other range unsatisfiable.
RangeResult parse_range(ByteView field_value, std::uint64_t size);

using ContentRangeText = FixedText<68>;  // "bytes ", '-', '/' and three numbers of 20 digits

ContentRangeText format_content_range(ByteRange range, std::uint64_t size);  // "bytes 0-9/100"
ContentRangeText format_unsatisfied_range(std::uint64_t size);               // "bytes */100"

// The frame of a multipart/byteranges body (section 14.6): a head before each range, a tail after
// the last. Both content_length() and what is sent come from piece(): they cannot disagree.
class MultipartRanges {
  public:
    static constexpr std::size_t boundary_bytes_max = 70;  // RFC 2046
    static constexpr std::size_t type_bytes_max = 128;
    using Piece = FixedText<320>;

    // Borrows all three. `boundary` must not occur in the file (make it random); `content_type` is
    // the file's own, "" for none.
    MultipartRanges(const RangeSet& ranges, std::uint64_t size, ByteView content_type,
                    ByteView boundary);

    // What stands before range `i`; for i == ranges.size() the tail.
    Piece piece(std::size_t i) const;
    std::uint64_t content_length() const;

  private:
    const RangeSet* ranges_;
    std::uint64_t size_;
    ByteView content_type_;
    ByteView boundary_;
};

}  // namespace tiderace::http::wire
