#include "tiderace/http/wire/range.h"

#include <limits>
#include <optional>

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {
namespace {

constexpr std::uint64_t number_max = std::numeric_limits<std::uint64_t>::max();

// Digits only, at least one. A number too large for the type lies beyond any file: it becomes
// number_max.
std::optional<std::uint64_t> parse_number(ByteView digits) {
    if (digits.empty()) return std::nullopt;
    std::uint64_t number = 0;
    for (const char c : digits) {
        if (!is_digit(c)) return std::nullopt;
        const auto digit = static_cast<std::uint64_t>(c - '0');
        const bool fits = number <= (number_max - digit) / 10;
        number = fits ? number * 10 + digit : number_max;
    }
    return number;
}

enum class Verdict : std::uint8_t { malformed, outside, inside };

struct Spec {
    Verdict verdict = Verdict::malformed;
    ByteRange range{};  // when inside
};

Spec last_bytes(std::uint64_t count, std::uint64_t size) {
    if (count == 0 || size == 0) return {Verdict::outside};
    return {Verdict::inside, {count < size ? size - count : 0, size - 1}};
}

// "0-499", "500-", "-500".
Spec parse_spec(ByteView text, std::uint64_t size) {
    const std::size_t dash = text.find('-');
    if (dash == ByteView::npos) return {};
    const ByteView after = text.substr(dash + 1);
    if (dash == 0) {
        const auto count = parse_number(after);
        return count ? last_bytes(*count, size) : Spec{};
    }
    const auto first = parse_number(text.substr(0, dash));
    const auto last = after.empty() ? number_max : parse_number(after);
    if (!first || !last || *last < *first) return {};
    if (*first >= size) return {Verdict::outside};
    return {Verdict::inside, {*first, *last < size ? *last : size - 1}};
}

// Whether the ranges together are more than the file. Counts down, so that nothing overflows.
bool exceeds(const RangeSet& ranges, std::uint64_t size) {
    std::uint64_t left = size;
    for (const ByteRange& range : ranges) {
        if (range.bytes() > left) return true;
        left -= range.bytes();
    }
    return false;
}

}  // namespace

void RangeSet::add(ByteRange range) {
    TR_CHECK(range.first <= range.last, "a range holds at least one byte");
    if (size_ > 0) {
        ByteRange& before = ranges_[size_ - 1];
        // RFC 9110, 15.3.7.2, lets a server coalesce ranges that overlap or touch.
        const bool touches = range.first <= before.last || range.first - before.last == 1;
        if (range.first >= before.first && touches) {
            if (range.last > before.last) before.last = range.last;
            return;
        }
    }
    TR_CHECK(size_ < ranges_max, "too many ranges");
    ranges_[size_++] = range;
}

RangeResult parse_range(ByteView field_value, std::uint64_t size) {
    constexpr ByteView unit = "bytes=";
    if (!starts_with_ignoring_case(field_value, unit)) return {};
    RangeResult result;
    std::size_t specs = 0;
    ListReader list(field_value.substr(unit.size()));
    while (list.next()) {
        const Spec spec = parse_spec(list.element(), size);
        // An invalid or an excessive Range is ignored: the whole file is sent (RFC 9110, 14.2).
        if (spec.verdict == Verdict::malformed || ++specs > ranges_max) return {};
        // A file shorter than the suffix is sent whole (RFC 9110, 14.1.2), even an empty one: no
        // 416.
        if (size == 0 && list.element().starts_with('-')) return {};
        if (spec.verdict == Verdict::inside) result.ranges.add(spec.range);
    }
    // Ranges that overlap could make the answer many times the size of the file (RFC 9110, 14.2).
    if (list.malformed() || specs == 0 || exceeds(result.ranges, size)) return {};
    result.kind =
        result.ranges.empty() ? RangeResult::Kind::unsatisfiable : RangeResult::Kind::satisfiable;
    return result;
}

ContentRangeText format_content_range(ByteRange range, std::uint64_t size) {
    ContentRangeText text;
    text.add("bytes ").add_number(range.first).add("-").add_number(range.last);
    text.add("/").add_number(size);
    return text;
}

ContentRangeText format_unsatisfied_range(std::uint64_t size) {
    ContentRangeText text;
    text.add("bytes */").add_number(size);
    return text;
}

MultipartRanges::MultipartRanges(const RangeSet& ranges, std::uint64_t size, ByteView content_type,
                                 ByteView boundary)
    : ranges_(&ranges), size_(size), content_type_(content_type), boundary_(boundary) {
    TR_CHECK(!ranges.empty(), "no parts to frame");
    TR_CHECK(content_type.size() <= type_bytes_max, "content type too long");
    TR_CHECK(!boundary.empty() && boundary.size() <= boundary_bytes_max, "not a boundary");
}

MultipartRanges::Piece MultipartRanges::piece(std::size_t i) const {
    TR_CHECK(i <= ranges_->size(), "no such part");
    Piece text;
    text.add(i == 0 ? "--" : "\r\n--").add(boundary_);
    if (i == ranges_->size()) {
        text.add("--\r\n");
        return text;
    }
    if (!content_type_.empty()) text.add("\r\nContent-Type: ").add(content_type_);
    const auto content_range = format_content_range((*ranges_)[i], size_);
    text.add("\r\nContent-Range: ").add(content_range.view()).add("\r\n\r\n");
    return text;
}

std::uint64_t MultipartRanges::content_length() const {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < ranges_->size(); ++i) {
        bytes += piece(i).size() + (*ranges_)[i].bytes();
    }
    return bytes + piece(ranges_->size()).size();
}

}  // namespace tiderace::http::wire
