#include "tiderace/http/wire/canonical_path.h"

#include <array>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "tiderace/base/utf8.h"
#include "tiderace/http/wire/percent.h"

namespace tiderace::http::wire {
namespace {

// ---- the fast path: nothing to change --------------------------------------------------------

enum : std::uint8_t { slash = 1, dot = 2, other_reader = 4 };

// other_reader: what needs a second look, because it must be decoded, refused or checked.
constexpr std::array<std::uint8_t, 256> make_classes() {
    std::array<std::uint8_t, 256> classes{};
    for (int c = 0; c < 256; ++c) {
        if (c < 0x20 || c >= 0x7F || c == '%' || c == '\\') classes[c] = other_reader;
    }
    classes['/'] = slash;
    classes['.'] = dot;
    return classes;
}

constexpr auto classes = make_classes();

// True when the path, which begins with '/', holds plain characters only and nowhere "//" or "/.".
bool is_plain_by_byte(ByteView path) {
    unsigned before = 0;
    unsigned found = 0;
    for (const char c : path) {
        const unsigned now = classes[static_cast<unsigned char>(c)];
        found |= (now & other_reader) | ((before & slash) & (now | now >> 1));
        before = now;
    }
    return found == 0;
}

#if defined(__SSE2__)
template <std::size_t width>
__m128i load(const char* at) {
    if constexpr (width == 16) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    } else if constexpr (width == 8) {
        return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
    } else {
        std::int32_t word = 0;
        static_assert(width == sizeof word);
        std::memcpy(&word, at, sizeof word);
        return _mm_cvtsi32_si128(word);
    }
}

// Checks the `width` bytes from `at`, and the pair that each makes with the byte before it.
template <std::size_t width>
bool is_plain_block(const char* at) {
    const auto all = [](char c) { return _mm_set1_epi8(c); };
    const __m128i now = load<width>(at);
    const __m128i before = load<width>(at - 1);
    // Signed: bytes from 0x80 up are below 0x20 as well.
    __m128i found = _mm_cmplt_epi8(now, all(0x20));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(now, all(0x7F)));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(now, all('%')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(now, all('\\')));
    const __m128i slash_or_dot =
        _mm_or_si128(_mm_cmpeq_epi8(now, all('/')), _mm_cmpeq_epi8(now, all('.')));
    const __m128i after_slash = _mm_cmpeq_epi8(before, all('/'));
    const auto bits = static_cast<unsigned>(
        _mm_movemask_epi8(_mm_or_si128(found, _mm_and_si128(after_slash, slash_or_dot))));
    return (bits & ((1U << width) - 1)) == 0;  // a narrow load has zeros behind its bytes
}

// For a path longer than a block. Its first byte is a slash; the last block overlaps the one before
// it.
template <std::size_t width>
bool is_plain_in_blocks(ByteView path) {
    // From 1, because each block looks at the byte before it.
    for (std::size_t at = 1; at + width < path.size(); at += width) {
        if (!is_plain_block<width>(path.data() + at)) return false;
    }
    return is_plain_block<width>(path.data() + path.size() - width);
}

bool is_plain(ByteView path) {
    if (path.size() > 16) return is_plain_in_blocks<16>(path);
    if (path.size() > 8) return is_plain_in_blocks<8>(path);
    if (path.size() > 4) return is_plain_in_blocks<4>(path);
    return is_plain_by_byte(path);
}
#else
bool is_plain(ByteView path) {
    return is_plain_by_byte(path);
}
#endif

// ---- the slow path: segment by segment into the scratch --------------------------------------

// A lead byte and its follower that can only encode what a shorter form encodes.
bool is_overlong(unsigned char lead, unsigned char follower) {
    switch (lead) {
        case 0xC0:
        case 0xC1:
            return !begins_character(static_cast<char>(follower));
        case 0xE0:
            return follower >= 0x80 && follower < 0xA0;
        case 0xF0:
            return follower >= 0x80 && follower < 0x90;
        case 0xF8:
            return follower >= 0x80 && follower < 0x88;
        case 0xFC:
            return follower >= 0x80 && follower < 0x84;
        default:
            return false;
    }
}

// What a byte of a name, decoded or not, is refused for.
PathFault check_byte(unsigned char byte, bool escaped, unsigned char before) {
    if (byte == 0) return PathFault::nul;
    if (byte < 0x20 || byte == 0x7F) return PathFault::control_character;
    if (byte == '\\') return PathFault::backslash;
    // Readers disagree whether %2F separates (RFC 3986, 2.2), so a path with it is ambiguous.
    if (escaped && byte == '/') return PathFault::encoded_slash;
    if (is_overlong(before, byte)) return PathFault::bad_escape;
    return PathFault::none;
}

class Rewriter {
  public:
    Rewriter(ByteView raw, std::span<char> out) : raw_(raw), out_(out) {}

    PathFault run() {
        while (at_ < raw_.size()) {
            const std::size_t begin = size_;
            ++at_;  // the slash
            out_[size_++] = '/';
            if (const PathFault fault = decode_segment(); fault != PathFault::none) return fault;
            if (const PathFault fault = settle_segment(begin); fault != PathFault::none)
                return fault;
        }
        return PathFault::none;
    }

    ByteView path() const { return ByteView(out_.data(), size_); }
    bool changed() const { return decoded_ || size_ != raw_.size(); }

  private:
    PathFault decode_segment() {
        unsigned char before = '/';
        while (at_ < raw_.size() && raw_[at_] != '/') {
            auto byte = static_cast<unsigned char>(raw_[at_]);
            const bool escaped = byte == '%';
            if (escaped) {
                const auto decoded = decode_escape(raw_.substr(at_));
                if (!decoded) return PathFault::bad_escape;
                byte = *decoded;
                decoded_ = true;
            }
            if (const auto fault = check_byte(byte, escaped, before); fault != PathFault::none) {
                return fault;
            }
            at_ += escaped ? 3 : 1;
            out_[size_++] = static_cast<char>(byte);
            before = byte;
        }
        return PathFault::none;
    }

    // Keeps, drops or resolves the segment whose slash is at `begin`.
    PathFault settle_segment(std::size_t begin) {
        const ByteView segment(out_.data() + begin + 1, size_ - begin - 1);
        // Judged after decoding, so that "%2e%2e" is ".." as well; "//" counts as "/".
        if (!segment.empty() && segment != "." && segment != "..") return PathFault::none;
        std::size_t parent = begin;
        if (segment == "..") {
            // RFC 3986, 5.2.4, would stop at the root in silence; such a path is an attack or a
            // mistake.
            if (begin == 0) return PathFault::above_root;
            parent = ByteView(out_.data(), begin).rfind('/');
        }
        size_ = parent;
        if (at_ == raw_.size()) out_[size_++] = '/';  // the last one names a folder
        return PathFault::none;
    }

    ByteView raw_;
    std::span<char> out_;
    std::size_t at_ = 0;    // of raw_; always at a slash between segments
    std::size_t size_ = 0;  // of out_; never more than at_
    bool decoded_ = false;
};

}  // namespace

PathResult canonicalize(ByteView raw_path, std::span<char> scratch) {
    if (!raw_path.starts_with('/')) return {.fault = PathFault::relative};
    if (raw_path.size() > scratch.size()) return {.fault = PathFault::too_long};
    if (is_plain(raw_path)) {
        return {.path = CanonicalPath(raw_path), .trailing_slash = raw_path.ends_with('/')};
    }
    Rewriter rewriter(raw_path, scratch);
    if (const PathFault fault = rewriter.run(); fault != PathFault::none) return {.fault = fault};
    // Unchanged after all, such as a byte of UTF-8: the view then lives as long as the head.
    const ByteView path = rewriter.changed() ? rewriter.path() : raw_path;
    return {.path = CanonicalPath(path),
            .trailing_slash = path.ends_with('/'),
            .rewritten = rewriter.changed(),
            .hidden = has_hidden_segment(path)};
}

Refusal refusal_of(PathFault fault) {
    switch (fault) {
        case PathFault::none:
            return Refusal::none;
        case PathFault::bad_escape:
            return Refusal::path_bad_escape;
        case PathFault::nul:
            return Refusal::path_nul;
        case PathFault::encoded_slash:
            return Refusal::path_encoded_slash;
        case PathFault::above_root:
            return Refusal::path_above_root;
        case PathFault::too_long:
            return Refusal::target_too_long;
        case PathFault::control_character:
            return Refusal::path_control_character;
        case PathFault::backslash:
            return Refusal::path_backslash;
        case PathFault::relative:
            break;
    }
    return Refusal::bad_target;
}

bool may_be_segment(ByteView name) {
    if (name.empty() || name == "." || name == "..") return false;
    unsigned char before = '/';
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (check_byte(byte, true, before) != PathFault::none) return false;
        before = byte;
    }
    return true;
}

bool has_hidden_segment(ByteView path) {
    // RFC 8615: its files are meant to be public, ACME's challenges among them.
    constexpr ByteView well_known = "/.well-known";
    if (path == well_known || path.starts_with("/.well-known/")) {
        path.remove_prefix(well_known.size());
    }
    return path.find("/.") != ByteView::npos;
}

}  // namespace tiderace::http::wire
