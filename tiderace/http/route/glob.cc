#include "tiderace/http/route/glob.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::http::route {
namespace {

// Where to resume when a star has matched too little.
struct Resume {
    std::size_t pattern = ByteView::npos;
    std::size_t text = 0;
};

// Only the last "*" and the last "**" ever need another try, so the time is at most the product of
// both lengths: a "**" can take all that an earlier star could, and a "*" cannot pass the '/' that
// a "**" before it may.
enum class Ends : std::uint8_t {
    with_text,
    before_slash,  // or with the text
};

// `separator` is what '*' and '?' do not stand for.
bool matches(ByteView pattern, ByteView text, int separator = '/', Ends ends = Ends::with_text) {
    // Most patterns end as names do, ".php", and most names end otherwise.
    const bool ends_alike = pattern.empty() || text.empty() || pattern.back() == text.back() ||
                            pattern.back() == '*' || pattern.back() == '?';
    if (ends == Ends::with_text && !ends_alike) return false;
    Resume star, double_star;
    std::size_t p = 0, t = 0;
    while (t < text.size()) {
        if (ends == Ends::before_slash && p == pattern.size() && text[t] == '/') return true;
        if (p < pattern.size() && pattern[p] == '*') {
            const bool is_double = p + 1 < pattern.size() && pattern[p + 1] == '*';
            p += is_double ? 2 : 1;
            (is_double ? double_star : star) = {p, t};
            if (is_double) star = {};
        } else if (p < pattern.size() &&
                   (pattern[p] == text[t] || (pattern[p] == '?' && text[t] != separator))) {
            ++p, ++t;
        } else if (star.pattern != ByteView::npos && text[star.text] != separator) {
            p = star.pattern;
            t = ++star.text;
        } else if (double_star.pattern != ByteView::npos) {
            star = {};
            p = double_star.pattern;
            t = ++double_star.text;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

}  // namespace

bool matches_glob(ByteView pattern, ByteView path) {
    if (pattern.find('/') == ByteView::npos)
        return matches(pattern, path.substr(path.rfind('/') + 1));
    if (!pattern.starts_with('/') && path.starts_with('/')) path.remove_prefix(1);
    return matches(pattern, path);
}

bool holds_at(ByteView path, ByteView at) {
    if (path.starts_with('=')) return at == path.substr(1);
    return is_glob(path) ? glob_holds(path, at) : wire::is_below(at, path);
}

bool glob_holds(ByteView pattern, ByteView path) {
    if (path.starts_with('/')) path.remove_prefix(1);
    if (pattern.starts_with('/')) {
        return matches(pattern.substr(1), path, '/', Ends::before_slash);
    }
    if (pattern.contains('/')) return matches(pattern, path, '/', Ends::before_slash);
    for (;;) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (matches(pattern, path.substr(0, end))) return true;
        if (end == path.size()) return false;
        path.remove_prefix(end + 1);
    }
}

bool matches_text(ByteView pattern, ByteView text) {
    constexpr int none = -1;
    return matches(pattern, text, none);
}

bool is_glob(ByteView pattern) {
    return pattern.find_first_of("*?") != ByteView::npos;
}

}  // namespace tiderace::http::route
