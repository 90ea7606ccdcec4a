#include "server/command_line/suggest.h"

#include <algorithm>
#include <vector>

#include "tiderace/base/ascii.h"

namespace tiderace::server {
namespace {

bool same(char left, char right) {
    return to_lower(left) == to_lower(right);
}

// The one candidate that begins with `word`, or "" when none or several do.
std::string_view only_completion(std::string_view word,
                                 std::span<const std::string_view> candidates) {
    // Two letters begin too much.
    if (word.size() < 3) return {};
    std::string_view found;
    for (const std::string_view candidate : candidates) {
        if (!candidate.starts_with(word)) continue;
        if (!found.empty()) return {};
        found = candidate;
    }
    return found;
}

}  // namespace

// Two letters in the wrong order count as one slip, because fingers make that one most: with plain
// insertions and removals "idel" would be two from "idle", and too far for a suggestion.
std::size_t edit_distance(std::string_view left, std::string_view right) {
    // Three rows of the optimal-string-alignment table: two before, one before, now.
    std::vector<std::size_t> older(right.size() + 1), old(right.size() + 1), now(right.size() + 1);
    for (std::size_t j = 0; j <= right.size(); ++j) old[j] = j;
    for (std::size_t i = 1; i <= left.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const bool equal = same(left[i - 1], right[j - 1]);
            now[j] = std::min({old[j] + 1, now[j - 1] + 1, old[j - 1] + (equal ? 0U : 1U)});
            if (i > 1 && j > 1 && same(left[i - 1], right[j - 2]) &&
                same(left[i - 2], right[j - 1])) {
                now[j] = std::min(now[j], older[j - 2] + 1);
            }
        }
        std::swap(older, old);
        std::swap(old, now);
    }
    return old[right.size()];
}

std::string_view nearest_spelling(std::string_view word,
                                  std::span<const std::string_view> candidates) {
    // One slip for three letters; more would suggest unrelated words.
    const std::size_t edits_max = std::max<std::size_t>(1, word.size() / 3);
    std::size_t best_edits = edits_max + 1;
    std::string_view best;
    for (const std::string_view candidate : candidates) {
        const std::size_t edits = edit_distance(word, candidate);
        // As many edits as letters: nothing of the word is in the candidate.
        if (edits >= best_edits || edits >= std::max(word.size(), candidate.size())) continue;
        best_edits = edits;
        best = candidate;
    }
    return best.empty() ? only_completion(word, candidates) : best;
}

}  // namespace tiderace::server
