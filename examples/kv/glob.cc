#include "examples/kv/glob.h"

#include <cstddef>
#include <utility>

namespace kv {
namespace {

using tiderace::ByteView;

// A set "[…]" that begins at pattern[at]; `at` moves behind it.
bool in_set(ByteView pattern, std::size_t& at, char c) {
    ++at;
    const bool inverted = at < pattern.size() && pattern[at] == '^';
    if (inverted) ++at;
    bool found = false;
    const auto take = [&]() -> unsigned char {
        if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
        return static_cast<unsigned char>(pattern[at++]);
    };
    const auto wanted = static_cast<unsigned char>(c);
    while (at < pattern.size() && pattern[at] != ']') {
        unsigned char first = take();
        unsigned char last = first;
        if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
            ++at;
            last = take();
            if (first > last) std::swap(first, last);
        }
        found = found || (wanted >= first && wanted <= last);
    }
    if (at < pattern.size()) ++at;
    return found != inverted;
}

// One character of the text against the pattern's next part, which is no star.
bool one_matches(ByteView pattern, std::size_t& at, char c) {
    switch (pattern[at]) {
        case '?':
            ++at;
            return true;
        case '[':
            return in_set(pattern, at, c);
        case '\\':
            if (at + 1 < pattern.size()) ++at;
            [[fallthrough]];
        default:
            return pattern[at++] == c;
    }
}

}  // namespace

bool glob_matches(ByteView pattern, ByteView text) {
    std::size_t p = 0;
    std::size_t t = 0;
    // Where the last star goes on if what follows it does not match here.
    std::size_t star = ByteView::npos;
    std::size_t star_text = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = ++p;
            star_text = t;
            continue;
        }
        if (p < pattern.size() && one_matches(pattern, p, text[t])) {
            ++t;
            continue;
        }
        // Back to the last star alone: an earlier one could reach nothing more. So the work is at
        // most pattern times text, whatever a client sends.
        if (star == ByteView::npos) return false;
        p = star;
        t = ++star_text;
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

}  // namespace kv
