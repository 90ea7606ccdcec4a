#include "examples/kv/glob.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace kv {
namespace {

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

// Which places of the pattern may come next, as bits: place n is before the n-th character, and the
// last one is the end.
class Glob::Places {
  public:
    explicit Places(ByteView pattern) : pattern_(pattern) {
        std::vector<std::size_t> stars;
        for (std::size_t at = 0; at < pattern.size();) {
            if (pattern[at] == '*') {
                stars.push_back(characters_);
                ++at;
            } else {
                one_matches(pattern, at, 0);
                ++characters_;
            }
        }
        words_ = characters_ / bits + 1;
        stars_.resize(words_);
        for (const std::size_t place : stars) stars_[place / bits] |= bit(place);
        now_.resize(words_);
    }

    bool match(ByteView text) {
        if (text.size() < characters_) return false;
        now_.assign(words_, 0);
        now_[0] = 1;
        for (const char c : text) {
            const std::size_t row = row_of(c) * words_;
            std::uint64_t carry = 0;
            std::uint64_t any = 0;
            for (std::size_t i = 0; i < words_; ++i) {
                const std::uint64_t matched = now_[i] & rows_[row + i];
                now_[i] = matched << 1 | carry | (now_[i] & stars_[i]);
                carry = matched >> (bits - 1);
                any |= now_[i];
            }
            if (any == 0) return false;
        }
        return (now_[characters_ / bits] & bit(characters_)) != 0;
    }

  private:
    static constexpr std::size_t bits = 64;
    static std::uint64_t bit(std::size_t place) { return std::uint64_t{1} << place % bits; }

    // The places at which the character matches; found when a text has it.
    std::size_t row_of(char c) {
        std::uint16_t& row = row_numbers_[static_cast<unsigned char>(c)];
        if (row != 0) return row - 1U;
        row = static_cast<std::uint16_t>(rows_.size() / words_ + 1);
        rows_.resize(rows_.size() + words_);
        std::uint64_t* const bits_of_row = rows_.data() + (row - 1U) * words_;
        std::size_t place = 0;
        for (std::size_t at = 0; at < pattern_.size();) {
            if (pattern_[at] == '*') {
                ++at;
                continue;
            }
            if (one_matches(pattern_, at, c)) bits_of_row[place / bits] |= bit(place);
            ++place;
        }
        return row - 1U;
    }

    ByteView pattern_;
    std::size_t characters_ = 0;        // without stars
    std::size_t words_ = 0;             // of a row
    std::vector<std::uint64_t> stars_;  // the places at which one stands
    std::vector<std::uint64_t> now_;
    std::vector<std::uint64_t> rows_;
    std::array<std::uint16_t, 256> row_numbers_{};  // from 1; 0: there is none yet
};

Glob::Glob(ByteView pattern) : pattern_(pattern) {}
Glob::Glob(Glob&& other) noexcept = default;
Glob::~Glob() = default;

bool Glob::matches(ByteView text) {
    if (!places_) {
        if (const auto known = match_step_by_step(text)) return *known;
        places_ = std::make_unique<Places>(pattern_);
    }
    return places_->match(text);
}

std::optional<bool> Glob::match_step_by_step(ByteView text) const {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t steps_left = 4 * text.size() + 256;
    // Where the last star goes on if what follows it does not match here.
    std::size_t star = ByteView::npos;
    std::size_t star_text = 0;
    while (t < text.size()) {
        if (p < pattern_.size() && pattern_[p] == '*') {
            star = ++p;
            star_text = t;
            continue;
        }
        const std::size_t before = p;
        const bool here = p < pattern_.size() && one_matches(pattern_, p, text[t]);
        // Bytes of the pattern, because a set has many.
        if (p - before >= steps_left) return std::nullopt;
        steps_left -= p - before;
        if (here) {
            ++t;
        } else if (star == ByteView::npos) {
            return false;
        } else {
            // To the last star alone: an earlier one could reach nothing more.
            p = star;
            t = ++star_text;
        }
    }
    while (p < pattern_.size() && pattern_[p] == '*') ++p;
    return p == pattern_.size();
}

}  // namespace kv
