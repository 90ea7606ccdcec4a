// Sorted sets by rank, score and bytes: ZRANGE, ZCOUNT, ZREMRANGEBYSCORE and their relatives.
#include <algorithm>

#include "examples/kv/commands.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

using Index = std::int64_t;
using Node = SortedSet::Node;

// Ranks, from 0: begin … end, without the end.
struct Ranks {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t size() const { return end > begin ? end - begin : 0; }
};

enum class By { rank, score, bytes };

struct Query {
    By by = By::rank;
    bool reversed = false;
    bool with_scores = false;
    Index skip = 0;
    Index limit = -1;  // below 0: none
    ByteView first;
    ByteView last;
};

struct ScoreBound {
    double score = 0;
    bool open = false;  // the score itself is outside
};

std::optional<ScoreBound> score_bound(ByteView text) {
    ScoreBound bound;
    if (text.starts_with('(')) {
        bound.open = true;
        text.remove_prefix(1);
    }
    const auto score = resp::parse_double(text);
    if (!score || *score != *score) return std::nullopt;
    bound.score = *score;
    return bound;
}

std::optional<Ranks> ranks_by_score(Call& call, SortedSet& set, const Query& query) {
    const auto low = score_bound(query.first);
    const auto high = score_bound(query.last);
    if (!low || !high) {
        call.reply.error("ERR min or max is not a float");
        return std::nullopt;
    }
    return Ranks{set.rank_of_first_not([&low](const Node& node) {
                     return low->open ? node.score() <= low->score : node.score() < low->score;
                 }),
                 set.rank_of_first_not([&high](const Node& node) {
                     return high->open ? node.score() < high->score : node.score() <= high->score;
                 })};
}

bool is_bytes_bound(ByteView text) {
    return text == "-" || text == "+" || text.starts_with('[') || text.starts_with('(');
}

std::optional<Ranks> ranks_by_bytes(Call& call, SortedSet& set, const Query& query) {
    if (!is_bytes_bound(query.first) || !is_bytes_bound(query.last)) {
        call.reply.error("ERR min or max not valid string range item");
        return std::nullopt;
    }
    // How many members stand before the bound.
    const auto rank = [&set](ByteView bound, bool upper) -> std::size_t {
        if (bound == "-") return 0;
        if (bound == "+") return set.size();
        // "[" includes the bound: at the upper end it is passed, at the lower end it is where we
        // stop.
        const bool with_equal = upper == (bound[0] == '[');
        const ByteView text = bound.substr(1);
        return set.rank_of_first_not([&](const Node& node) {
            return with_equal ? node.member() <= text : node.member() < text;
        });
    };
    return Ranks{rank(query.first, false), rank(query.last, true)};
}

std::optional<Ranks> ranks_by_rank(Call& call, SortedSet& set, const Query& query) {
    const auto first = call.integer(query.first);
    if (!first) return std::nullopt;
    const auto last = call.integer(query.last);
    if (!last) return std::nullopt;
    const auto size = static_cast<Index>(set.size());
    const Index begin = std::max<Index>(0, *first < 0 ? *first + size : *first);
    const Index end = std::min(size - 1, *last < 0 ? *last + size : *last) + 1;
    if (begin >= end) return Ranks{};
    if (query.reversed) {
        return Ranks{static_cast<std::size_t>(size - end), static_cast<std::size_t>(size - begin)};
    }
    return Ranks{static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

std::optional<Ranks> ranks(Call& call, SortedSet& set, const Query& query) {
    switch (query.by) {
        case By::rank:
            return ranks_by_rank(call, set, query);
        case By::score:
            return ranks_by_score(call, set, query);
        default:
            return ranks_by_bytes(call, set, query);
    }
}

// An absent key is an empty set, so that wrong bounds are found there as well. nullopt: answered.
std::optional<Ranks> look(Call& call, ByteView key, const Query& query, SortedSet*& set) {
    if (!call.find(key, set)) return std::nullopt;
    SortedSet none;
    return ranks(call, set != nullptr ? *set : none, query);
}

Ranks limited(Ranks all, const Query& query) {
    const std::size_t skip = static_cast<std::size_t>(std::max<Index>(0, query.skip));
    // A negative offset is answered by nothing, as in Redis.
    if (query.skip < 0 || skip >= all.size()) return {};
    std::size_t count = all.size() - skip;
    if (query.limit >= 0) count = std::min(count, static_cast<std::size_t>(query.limit));
    return query.reversed ? Ranks{all.end - skip - count, all.end - skip}
                          : Ranks{all.begin + skip, all.begin + skip + count};
}

void answer(Call& call, const Query& query) {
    SortedSet* set = nullptr;
    const auto found = look(call, call.args[1], query, set);
    if (!found) return;
    const Ranks shown = limited(*found, query);
    const bool nested = query.with_scores && call.reply.protocol() == resp::Protocol::resp3;
    call.reply.array(query.with_scores && !nested ? 2 * shown.size() : shown.size());
    if (shown.size() == 0) return;
    const Node* node = set->at(query.reversed ? shown.end - 1 : shown.begin);
    for (std::size_t i = 0; i < shown.size(); ++i) {
        if (nested) call.reply.array(2);
        call.reply.bulk(node->member());
        if (query.with_scores) call.reply.real(node->score());
        node = query.reversed ? node->previous() : node->next();
    }
}

// [BYSCORE|BYLEX] [REV] [LIMIT skip count] [WITHSCORES], from `at`. `free`: also the first two.
bool read_query(Call& call, std::size_t at, bool free, Query& query) {
    bool limits = false;
    for (std::size_t i = at; i < call.args.size(); ++i) {
        if (same_word(call.args[i], "WITHSCORES")) {
            query.with_scores = true;
        } else if (same_word(call.args[i], "LIMIT") && i + 2 < call.args.size()) {
            const auto skip = call.integer(call.args[i + 1]);
            if (!skip) return false;
            const auto count = call.integer(call.args[i + 2]);
            if (!count) return false;
            query.skip = *skip;
            query.limit = *count;
            limits = true;
            i += 2;
        } else if (free && same_word(call.args[i], "BYSCORE")) {
            query.by = By::score;
        } else if (free && same_word(call.args[i], "BYLEX")) {
            query.by = By::bytes;
        } else if (free && same_word(call.args[i], "REV")) {
            query.reversed = true;
        } else {
            call.syntax_error();
            return false;
        }
    }
    if (limits && query.by == By::rank) {
        call.reply.error(
            "ERR syntax error, LIMIT is only supported in combination with either "
            "BYSCORE or BYLEX");
        return false;
    }
    if (query.with_scores && query.by == By::bytes) {
        call.reply.error("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
        return false;
    }
    // A reversed range by score or bytes begins with its upper end.
    if (query.reversed && query.by != By::rank) std::swap(query.first, query.last);
    return true;
}

template <By by, bool reversed, bool free>
void range(Call& call) {
    Query query{.by = by, .reversed = reversed, .first = call.args[2], .last = call.args[3]};
    if (read_query(call, 4, free, query)) answer(call, query);
}

template <By by>
void count(Call& call) {
    SortedSet* set = nullptr;
    const auto found =
        look(call, call.args[1], {.by = by, .first = call.args[2], .last = call.args[3]}, set);
    if (found) call.reply.integer(static_cast<Index>(found->size()));
}

template <By by>
void remove(Call& call) {
    SortedSet* set = nullptr;
    const auto found =
        look(call, call.args[1], {.by = by, .first = call.args[2], .last = call.args[3]}, set);
    if (!found) return;
    call.reply.integer(static_cast<Index>(found->size()));
    if (found->size() == 0) return;
    for (std::size_t i = 0; i < found->size(); ++i) {
        // A copy of the name, because it belongs to the node that goes.
        set->erase(std::string(set->at(found->begin)->member()));
    }
    call.shrank(call.args[1], *set);
}

void zrangestore(Call& call) {
    Query query{.first = call.args[3], .last = call.args[4]};
    if (!read_query(call, 5, true, query)) return;
    if (query.with_scores) return call.syntax_error();
    SortedSet* set = nullptr;
    const auto found = look(call, call.args[2], query, set);
    if (!found) return;
    const Ranks shown = limited(*found, query);
    call.reply.integer(static_cast<Index>(shown.size()));
    if (shown.size() == 0) {
        if (call.keys.erase(call.args[1])) call.changed(call.args[1]);
        return;
    }
    auto copy = std::make_unique<SortedSet>();
    const Node* node = set->at(shown.begin);
    for (std::size_t i = 0; i < shown.size(); ++i, node = node->next()) {
        copy->set(node->member(), node->score());
    }
    call.keys.set(call.args[1], std::move(copy));
    call.changed(call.args[1]);
}

}  // namespace

Commands sorted_set_range_commands() {
    static constexpr Command commands[] = {
        {"zrange", range<By::rank, false, true>, -4, 0, 1, 1, 1},
        {"zrevrange", range<By::rank, true, false>, -4, 0, 1, 1, 1},
        {"zrangebyscore", range<By::score, false, false>, -4, 0, 1, 1, 1},
        {"zrevrangebyscore", range<By::score, true, false>, -4, 0, 1, 1, 1},
        {"zrangebylex", range<By::bytes, false, false>, -4, 0, 1, 1, 1},
        {"zrevrangebylex", range<By::bytes, true, false>, -4, 0, 1, 1, 1},
        {"zrangestore", zrangestore, -5, flag::write | flag::grows, 1, 2, 1},
        {"zcount", count<By::score>, 4, 0, 1, 1, 1},
        {"zlexcount", count<By::bytes>, 4, 0, 1, 1, 1},
        {"zremrangebyrank", remove<By::rank>, 4, flag::write, 1, 1, 1},
        {"zremrangebyscore", remove<By::score>, 4, flag::write, 1, 1, 1},
        {"zremrangebylex", remove<By::bytes>, 4, flag::write, 1, 1, 1},
    };
    return commands;
}

}  // namespace kv
