#include "tiderace/http/route/glob.h"

#include <algorithm>
#include <cstdint>

#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::http::route {
namespace {

// Where to resume when a star has matched too little.
struct Resume {
    std::size_t pattern = ByteView::npos;
    std::size_t text = 0;
    std::size_t begin = 0;   // of what the star stands for
    std::size_t number = 0;  // among the stars
    bool takes_segments = false;
};

enum class Ends : std::uint8_t {
    with_text,
    before_slash,  // or with the text
};

// "**/" at the begin of a segment: any number of whole segments, and so none.
bool takes_segments(ByteView pattern, std::size_t at) {
    return pattern.substr(at).starts_with("**/") && (at == 0 || pattern[at - 1] == '/');
}

// Only the last "*" and the last "**" ever need another try, so the time is at most the product of
// both lengths: a "**" can take all that an earlier star could, and a "*" cannot pass the '/' that
// a "**" before it may.
class Matcher {
  public:
    // `separator` is what '*' and '?' do not stand for.
    Matcher(ByteView pattern, ByteView text, int separator, Captures* captures)
        : pattern_(pattern), text_(text), separator_(separator), captures_(captures) {}

    bool matches(Ends ends) {
        // Most patterns end as names do, ".php", and most names end otherwise.
        const bool ends_alike = pattern_.empty() || text_.empty() ||
                                pattern_.back() == text_.back() || pattern_.back() == '*' ||
                                pattern_.back() == '?';
        if (ends == Ends::with_text && !ends_alike) return false;
        while (t_ < text_.size()) {
            const bool is_done = p_ == pattern_.size();
            if (ends == Ends::before_slash && is_done && text_[t_] == '/' && !takes_rest()) {
                return true;
            }
            if (!is_done && pattern_[p_] == '*') {
                begin_star();
            } else if (!is_done && (pattern_[p_] == text_[t_] ||
                                    (pattern_[p_] == '?' && text_[t_] != separator_))) {
                ++p_, ++t_;
            } else if (!resume()) {
                return false;
            }
        }
        while (p_ < pattern_.size() && pattern_[p_] == '*') begin_star();
        return p_ == pattern_.size();
    }

  private:
    // A last star whose text is not needed ends the search.
    bool takes_rest() const { return captures_ != nullptr && pattern_.ends_with("**"); }

    void begin_star() {
        const bool is_double = pattern_.substr(p_).starts_with("**");
        const bool segments = separator_ == '/' && takes_segments(pattern_, p_);
        p_ += segments ? 3 : is_double ? 2 : 1;
        Resume& star = is_double ? double_star_ : star_;
        star = {p_, t_, t_, stars_++, segments};
        if (is_double) star_ = {};
        capture(star, t_);
    }

    // The last star takes one character more, or one segment.
    bool resume() {
        if (star_.pattern != ByteView::npos && text_[star_.text] != separator_) {
            ++star_.text;
            return resume_at(star_, star_.text);
        }
        star_ = {};
        if (double_star_.pattern == ByteView::npos) return false;
        if (!double_star_.takes_segments) {
            ++double_star_.text;
            return resume_at(double_star_, double_star_.text);
        }
        const std::size_t slash = text_.find('/', double_star_.text);
        if (slash == ByteView::npos) return false;
        double_star_.text = slash + 1;
        return resume_at(double_star_, slash);
    }

    bool resume_at(const Resume& star, std::size_t end) {
        p_ = star.pattern;
        t_ = star.text;
        stars_ = star.number + 1;
        capture(star, end);
        return true;
    }

    void capture(const Resume& star, std::size_t end) {
        if (captures_ == nullptr || star.number >= captures_max) return;
        captures_->texts[star.number] = text_.substr(star.begin, end - star.begin);
        captures_->count = star.number + 1;
    }

    ByteView pattern_;
    ByteView text_;
    int separator_;
    Captures* captures_;
    Resume star_, double_star_;
    std::size_t p_ = 0, t_ = 0;
    std::size_t stars_ = 0;
};

bool matches(ByteView pattern, ByteView text, Ends ends = Ends::with_text,
             Captures* captures = nullptr, int separator = '/') {
    return Matcher(pattern, text, separator, captures).matches(ends);
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

bool glob_holds(ByteView pattern, ByteView path, Captures* captures) {
    if (path.starts_with('/')) path.remove_prefix(1);
    if (pattern.contains('/')) {
        return matches(pattern.substr(pattern.starts_with('/') ? 1 : 0), path, Ends::before_slash,
                       captures);
    }
    for (;;) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (matches(pattern, path.substr(0, end), Ends::with_text, captures)) return true;
        if (end == path.size()) return false;
        path.remove_prefix(end + 1);
    }
}

bool matches_text(ByteView pattern, ByteView text) {
    constexpr int none = -1;
    return matches(pattern, text, Ends::with_text, nullptr, none);
}

std::size_t stars_of(ByteView pattern) {
    std::size_t stars = 0;
    for (std::size_t at = pattern.find('*'); at < pattern.size(); at = pattern.find('*', at)) {
        ++stars;
        at += pattern.substr(at).starts_with("**") ? 2 : 1;
    }
    return stars;
}

bool is_glob(ByteView pattern) {
    return pattern.find_first_of("*?") != ByteView::npos;
}

}  // namespace tiderace::http::route
