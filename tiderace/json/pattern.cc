#include "tiderace/json/pattern.h"

#include <bitset>

#include "tiderace/base/check.h"

namespace tiderace::json {
namespace {

// The pattern with its counts written out: x{2,3} is x x x?.
struct Positions {
    const PatternItem* item[pattern_positions_max];
    bool optional[pattern_positions_max];
    bool again[pattern_positions_max];
    std::size_t count = 0;
};

// Bit i: position i is the next one to match.
using Waiting = std::bitset<pattern_positions_max + 1>;

// x{2,} is x x*: the last position may match again.
Positions write_out(std::span<const PatternItem> pattern) {
    Positions positions;
    for (const PatternItem& item : pattern) {
        for (std::size_t i = 0; i < item.most; ++i) {
            TR_CHECK(positions.count < pattern_positions_max, "the compiler counted them");
            positions.item[positions.count] = &item;
            positions.optional[positions.count] = i >= item.least;
            positions.again[positions.count++] = item.no_end && i + 1 == item.most;
        }
    }
    return positions;
}

bool matches_one(const PatternItem& item, unsigned char c) {
    return c < 0x80 ? (item.ascii[c / 64] >> (c % 64) & 1) != 0 : item.others;
}

// In rising order, so that a run of optional positions is skipped in one pass.
void skip_optional(const Positions& positions, Waiting& waiting) {
    for (std::size_t i = 0; i < positions.count; ++i) {
        if (waiting[i] && positions.optional[i]) waiting.set(i + 1);
    }
}

}  // namespace

// All ways of matching at once, a step for each character: a pattern that could be matched in many
// ways costs no more than another, which a search with backtracking would not promise.
bool matches(std::span<const PatternItem> pattern, std::string_view text) {
    // The work is bytes times positions, so a bound on both bounds it.
    if (text.size() > pattern_text_bytes_max) return false;
    const Positions positions = write_out(pattern);
    Waiting waiting;
    waiting.set(0);
    skip_optional(positions, waiting);
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto c = static_cast<unsigned char>(text[at]);
        if ((c & 0xC0) == 0x80) continue;  // the lead byte stood for the whole character
        Waiting next;
        for (std::size_t i = 0; i < positions.count; ++i) {
            if (!waiting[i] || !matches_one(*positions.item[i], c)) continue;
            next.set(i + 1);
            if (positions.again[i]) next.set(i);
        }
        if (next.none()) return false;
        waiting = next;
        skip_optional(positions, waiting);
    }
    return waiting[positions.count];
}

void PatternCompiler::refuse(const char* why) {
    check_failed("pattern", __FILE__, __LINE__, why);  // reached by no program: consteval alone
}

}  // namespace tiderace::json
