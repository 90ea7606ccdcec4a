// The nearest right spelling of a mistyped word.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace tiderace::server {

// How many single-character insertions, deletions, replacements and swaps of neighbours make `left`
// into `right` (no character is edited twice). Case counts as no difference.
std::size_t edit_distance(std::string_view left, std::string_view right);

// The candidate nearest to `word`, or "" when none is near enough to be meant: more than a third of
// the word (at least one character) would have to change. A word that begins exactly one candidate
// is near. The earlier candidate wins a draw. The result views into `candidates`.
std::string_view nearest_spelling(std::string_view word,
                                  std::span<const std::string_view> candidates);

}  // namespace tiderace::server
