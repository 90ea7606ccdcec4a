// Sorted sets by member: ZADD, ZSCORE, ZPOPMIN, and the commands that combine several.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <variant>

#include "examples/kv/commands.h"
#include "examples/kv/commands/counted_keys.h"
#include "examples/kv/commands/random_nodes.h"
#include "examples/kv/dict.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

using Index = std::int64_t;

struct AddOptions {
    bool nx = false, xx = false, gt = false, lt = false, ch = false, incr = false;
    std::size_t first = 2;  // of the pairs
};

bool read_options(Call& call, AddOptions& o) {
    for (; o.first < call.args.size(); ++o.first) {
        const ByteView word = call.args[o.first];
        if (same_word(word, "NX")) {
            o.nx = true;
        } else if (same_word(word, "XX")) {
            o.xx = true;
        } else if (same_word(word, "GT")) {
            o.gt = true;
        } else if (same_word(word, "LT")) {
            o.lt = true;
        } else if (same_word(word, "CH")) {
            o.ch = true;
        } else if (same_word(word, "INCR")) {
            o.incr = true;
        } else {
            break;
        }
    }
    const std::size_t words = call.args.size() - o.first;
    const char* fault = nullptr;
    if (words == 0 || words % 2 != 0) fault = "ERR syntax error";
    if (o.nx && o.xx) fault = "ERR XX and NX options at the same time are not compatible";
    if ((o.gt && o.lt) || (o.nx && (o.gt || o.lt))) {
        fault = "ERR GT, LT, and/or NX options at the same time are not compatible";
    }
    if (o.incr && words > 2) fault = "ERR INCR option supports a single increment-element pair";
    if (fault != nullptr) call.reply.error(fault);
    return fault == nullptr;
}

// All scores before any is stored.
bool read_scores(Call& call, std::size_t first, std::vector<double>& scores) {
    for (std::size_t i = first; i < call.args.size(); i += 2) {
        const auto score = call.real(call.args[i]);
        if (!score) return false;
        scores.push_back(*score);
    }
    return true;
}

void add(Call& call, const AddOptions& o) {
    const ByteView key = call.args[1];
    std::vector<double> scores;
    scores.reserve((call.args.size() - o.first) / 2);
    if (!read_scores(call, o.first, scores)) return;
    SortedSet* set = nullptr;
    if (!call.find(key, set)) return;
    if (set == nullptr && o.xx) return o.incr ? call.reply.null() : call.reply.integer(0);
    if (set == nullptr) set = call.find_or_make<SortedSet>(key);
    Index added = 0;
    Index moved = 0;
    std::optional<double> result;
    // The resulting scores, as for INCRBYFLOAT: another machine might round an INCR otherwise.
    std::vector<std::string> log{"ZADD", std::string(key)};
    const bool logs = call.server.log().is_open();
    bool is_number = true;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const ByteView member = call.args[o.first + 2 * i + 1];
        set->update(member, [&](std::optional<double> old) -> std::optional<double> {
            const double score = o.incr ? old.value_or(0) + scores[i] : scores[i];
            is_number = !std::isnan(score);
            if (!is_number) return std::nullopt;
            if (old ? o.nx || (o.gt && score <= *old) || (o.lt && score >= *old) : o.xx) {
                return std::nullopt;
            }
            result = score;
            if (old && *old == score) return std::nullopt;  // nothing to do again
            ++(old ? moved : added);
            if (logs) {
                log.emplace_back(resp::DoubleText(score).view());
                log.emplace_back(member);
            }
            return score;
        });
    }
    // INCR alone can come to it, and has one member.
    if (!is_number) return call.reply.error("ERR resulting score is not a number (NaN)");
    if (!o.incr) {
        call.reply.integer(o.ch ? added + moved : added);
    } else if (result) {
        call.reply.real(*result);
    } else {
        call.reply.null();
    }
    // Nothing was added to a set that was made for this.
    if (set->size() == 0) call.keys.erase(key);
    if (added + moved == 0) return;
    call.changed(key);
    if (logs) call.log_as(log);
}

void zadd(Call& call) {
    AddOptions options;
    if (read_options(call, options)) add(call, options);
}

void zincrby(Call& call) {
    AddOptions options;
    options.incr = true;
    add(call, options);
}

void zscore(Call& call) {
    SortedSet* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    const auto score = set != nullptr ? set->score(call.args[2]) : std::nullopt;
    if (!score) return call.reply.null();
    call.reply.real(*score);
}

void zmscore(Call& call) {
    SortedSet* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    call.reply.array(call.args.size() - 2);
    for (const ByteView member : call.args.from(2)) {
        const auto score = set != nullptr ? set->score(member) : std::nullopt;
        if (score) {
            call.reply.real(*score);
        } else {
            call.reply.null();
        }
    }
}

void zcard(Call& call) {
    SortedSet* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    call.reply.integer(set != nullptr ? static_cast<Index>(set->size()) : 0);
}

void zrem(Call& call) {
    SortedSet* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    Index gone = 0;
    if (set != nullptr) {
        for (const ByteView member : call.args.from(2)) gone += set->erase(member) ? 1 : 0;
    }
    call.reply.integer(gone);
    if (gone > 0) call.shrank(call.args[1], *set);
}

void rank(Call& call, bool reversed) {
    SortedSet* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    const auto place = set != nullptr ? set->rank(call.args[2]) : std::nullopt;
    if (!place) return call.reply.null();
    call.reply.integer(static_cast<Index>(reversed ? set->size() - 1 - *place : *place));
}

void zrank(Call& call) {
    rank(call, false);
}
void zrevrank(Call& call) {
    rank(call, true);
}

void pop_scored(Call& call, bool highest) {
    if (call.args.size() > 3) return call.syntax_error();
    const auto count = call.args.size() == 3 ? call.integer(call.args[2]) : Index{1};
    if (!count) return;
    if (*count < 0) return call.reply.error("ERR value is out of range, must be positive");
    SortedSet* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    const auto taken =
        std::min<std::size_t>(static_cast<std::size_t>(*count), set != nullptr ? set->size() : 0);
    // Redis nests pairs in RESP 3, but not the only one of a pop without a count.
    const bool nested = call.args.size() == 3 && call.reply.protocol() == resp::Protocol::resp3;
    call.reply.array(nested ? taken : 2 * taken);
    for (std::size_t i = 0; i < taken; ++i) {
        const auto* node = set->at(highest ? set->size() - 1 : 0);
        // A copy, because erase() ends the node and its name.
        const std::string member(node->member());
        if (nested) call.reply.array(2);
        call.reply.bulk(member);
        call.reply.real(node->score());
        set->erase(member);
    }
    if (taken > 0) call.shrank(call.args[1], *set);
}

void zpopmin(Call& call) {
    pop_scored(call, false);
}
void zpopmax(Call& call) {
    pop_scored(call, true);
}

// BZPOPMIN, BZPOPMAX: one member of the first key that has one.
void pop_first_scored(Call& call, std::string_view name, bool highest) {
    const std::size_t last = call.args.size() - 1;
    const auto seconds = call.timeout(call.args[last]);
    if (!seconds) return;
    for (const ByteView key : call.args.part(1, last)) {
        SortedSet* set = nullptr;
        if (!call.find_awaited(key, set)) return;
        if (set == nullptr) continue;
        const auto* node = set->at(highest ? set->size() - 1 : 0);
        const std::string member(node->member());
        call.reply.array(3);
        call.reply.bulk(key);
        call.reply.bulk(member);
        call.reply.real(node->score());
        set->erase(member);
        call.shrank(key, *set);
        return call.log_as({highest ? "ZPOPMAX" : "ZPOPMIN", key});
    }
    call.wait_for(name, call.args.part(1, last), *seconds);
}

void bzpopmin(Call& call) {
    pop_first_scored(call, "bzpopmin", false);
}
void bzpopmax(Call& call) {
    pop_first_scored(call, "bzpopmax", true);
}

// False: the keys are empty, and nothing was answered.
bool pop_several_scored(Call& call, const MultiPop& wanted) {
    for (const ByteView key : wanted.keys) {
        SortedSet* set = nullptr;
        if (!call.find_awaited(key, set)) return true;
        if (set == nullptr) continue;
        const auto taken =
            std::min<std::size_t>(static_cast<std::size_t>(wanted.count), set->size());
        call.reply.array(2);
        call.reply.bulk(key);
        call.reply.array(taken);
        for (std::size_t i = 0; i < taken; ++i) {
            const auto* node = set->at(wanted.first ? 0 : set->size() - 1);
            const std::string member(node->member());
            call.reply.array(2);
            call.reply.bulk(member);
            call.reply.real(node->score());
            set->erase(member);
        }
        call.shrank(key, *set);
        call.log_as({wanted.first ? "ZPOPMIN" : "ZPOPMAX", key, std::to_string(taken)});
        return true;
    }
    return false;
}

void zmpop(Call& call) {
    const auto wanted = read_multi_pop(call, 1, "MIN", "MAX");
    if (wanted && !pop_several_scored(call, *wanted)) call.reply.null_array();
}

void bzmpop(Call& call) {
    const auto seconds = call.timeout(call.args[1]);
    if (!seconds) return;
    const auto wanted = read_multi_pop(call, 2, "MIN", "MAX");
    if (wanted && !pop_several_scored(call, *wanted)) {
        call.wait_for("bzmpop", wanted->keys, *seconds);
    }
}

void zrandmember(Call& call) {
    SortedSet* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    if (call.args.size() == 2) {
        if (set == nullptr) return call.reply.null();
        return call.reply.bulk(set->members().random(call.server.random()).key);
    }
    const auto count = call.integer(call.args[2]);
    if (!count) return;
    const bool scores = call.args.size() == 4 && same_word(call.args[3], "WITHSCORES");
    if (call.args.size() > 4 || (call.args.size() == 4 && !scores)) return call.syntax_error();
    const auto nodes =
        random_nodes(set != nullptr ? &set->members() : nullptr, *count, call.server.random());
    if (!nodes) return call.reply.error("ERR value is out of range");
    const bool nested = scores && call.reply.protocol() == resp::Protocol::resp3;
    call.reply.array(scores && !nested ? 2 * nodes->size() : nodes->size());
    for (const auto* node : *nodes) {
        if (nested) call.reply.array(2);
        call.reply.bulk(node->key);
        if (scores) call.reply.real(node->mapped);
    }
}

enum class ScoredOperation { combination, intersection, difference };
enum class Aggregate { sum, min, max };

// With the key of the process, as in Dict: clients choose the members.
struct MemberHash {
    std::size_t operator()(ByteView member) const { return hash_of(member); }
};
// Views of the keys' own members, which stay while the result is made. A copy of each source would
// let one command name the same key a thousand times.
template <typename Value>
using ByMember = std::unordered_map<ByteView, Value, MemberHash>;
using Source = std::variant<std::monostate, Set*, SortedSet*>;  // the first: an absent key

// f(member, score) for each; a set's members have the score 1.
template <typename F>
void for_each_scored(const Source& source, F&& f) {
    if (Set* const* set = std::get_if<Set*>(&source)) {
        (*set)->for_each([&f](auto& node) { f(node.key, 1.0); });
    } else if (SortedSet* const* sorted = std::get_if<SortedSet*>(&source)) {
        (*sorted)->members().for_each([&f](auto& node) { f(node.key, node.mapped); });
    }
}

struct Sources {
    std::vector<Source> sets;
    std::vector<double> weights;
    Aggregate aggregate = Aggregate::sum;
    bool with_scores = false;
};

bool read_sets(Call& call, std::size_t at, std::size_t count, Sources& sources) {
    for (std::size_t i = 0; i < count; ++i) {
        Source& source = sources.sets.emplace_back();
        Entry* entry = call.keys.find(call.args[at + i]);
        if (entry == nullptr) continue;
        if (auto* set = std::get_if<std::unique_ptr<Set>>(&entry->value)) {
            source = set->get();
        } else if (auto* sorted = std::get_if<std::unique_ptr<SortedSet>>(&entry->value)) {
            source = sorted->get();
        } else {
            call.wrong_type();
            return false;
        }
    }
    return true;
}

// numkeys key … [WEIGHTS w …] [AGGREGATE SUM|MIN|MAX] [WITHSCORES], from `at`.
bool read_sources(Call& call, std::size_t at, bool weighted, Sources& sources) {
    const auto count = call.integer(call.args[at]);
    if (!count) return false;
    if (*count < 1) {
        call.reply.error("ERR at least 1 input key is needed for '" + std::string(call.args[0]) +
                         "' command");
        return false;
    }
    const auto keys = static_cast<std::size_t>(*count);
    if (keys > call.args.size() - at - 1) {
        call.syntax_error();
        return false;
    }
    sources.weights.assign(keys, 1.0);
    for (std::size_t i = at + 1 + keys; i < call.args.size(); ++i) {
        if (weighted && same_word(call.args[i], "WEIGHTS") && call.args.size() - i > keys) {
            for (double& weight : sources.weights) {
                const auto given = call.real(call.args[++i]);
                if (!given) return false;
                weight = *given;
            }
        } else if (weighted && same_word(call.args[i], "AGGREGATE") && i + 1 < call.args.size()) {
            const ByteView word = call.args[++i];
            sources.aggregate = same_word(word, "MIN")   ? Aggregate::min
                                : same_word(word, "MAX") ? Aggregate::max
                                                         : Aggregate::sum;
            if (sources.aggregate == Aggregate::sum && !same_word(word, "SUM")) {
                call.syntax_error();
                return false;
            }
        } else if (same_word(call.args[i], "WITHSCORES") && at == 1) {  // at 2 they are stored
            sources.with_scores = true;
        } else {
            call.syntax_error();
            return false;
        }
    }
    return read_sets(call, at + 1, keys, sources);
}

double weighed(double score, double weight) {
    const double product = score * weight;
    // 0 * inf, and below inf - inf: Redis takes 0 for both.
    return std::isnan(product) ? 0 : product;
}

void combine_scored(const Sources& sources, ScoredOperation operation, SortedSet& result) {
    ByMember<std::pair<double, std::size_t>> all;
    for (std::size_t i = 0; i < sources.sets.size(); ++i) {
        for_each_scored(sources.sets[i], [&](ByteView member, double score) {
            const double part = weighed(score, sources.weights[i]);
            const auto [at, is_new] = all.try_emplace(member, part, 1);
            // Anything that a later set has is out, whether it was in the first or not.
            if (i > 0 && operation == ScoredOperation::difference) {
                at->second.second = 0;
            } else if (!is_new) {
                double& sum = at->second.first;
                ++at->second.second;
                sum = sources.aggregate == Aggregate::min   ? std::min(sum, part)
                      : sources.aggregate == Aggregate::max ? std::max(sum, part)
                                                            : sum + part;
                if (std::isnan(sum)) sum = 0;
            }
        });
    }
    const std::size_t needed = operation == ScoredOperation::intersection ? sources.sets.size() : 1;
    for (const auto& [member, sum] : all) {
        if (sum.second >= needed) result.set(member, sum.first);
    }
}

template <ScoredOperation operation>
void show_scored(Call& call) {
    Sources sources;
    if (!read_sources(call, 1, operation != ScoredOperation::difference, sources)) return;
    SortedSet result;
    combine_scored(sources, operation, result);
    const bool nested = sources.with_scores && call.reply.protocol() == resp::Protocol::resp3;
    call.reply.array(sources.with_scores && !nested ? 2 * result.size() : result.size());
    for (const auto* node = result.at(0); node != nullptr; node = node->next()) {
        if (nested) call.reply.array(2);
        call.reply.bulk(node->member());
        if (sources.with_scores) call.reply.real(node->score());
    }
}

void zintercard(Call& call) {
    const auto read = read_limited_keys(call);
    if (!read) return;
    Sources sources;
    sources.weights.assign(read->keys.size(), 1.0);
    if (!read_sets(call, 2, read->keys.size(), sources)) return;
    SortedSet result;
    combine_scored(sources, ScoredOperation::intersection, result);
    call.reply.integer(read->limited(result.size()));
}

template <ScoredOperation operation>
void store_scored(Call& call) {
    Sources sources;
    if (!read_sources(call, 2, operation != ScoredOperation::difference, sources)) return;
    auto result = std::make_unique<SortedSet>();
    combine_scored(sources, operation, *result);
    const ByteView key = call.args[1];
    call.reply.integer(static_cast<Index>(result->size()));
    if (result->size() > 0) {
        call.keys.set(key, std::move(result));
    } else if (!call.keys.erase(key)) {
        return;
    }
    call.changed(key);
}

}  // namespace

Commands sorted_set_commands() {
    static constexpr Command commands[] = {
        {"zadd", zadd, -4, flag::write | flag::grows, 1, 1, 1},
        {"zincrby", zincrby, 4, flag::write | flag::grows, 1, 1, 1},
        {"zscore", zscore, 3, 0, 1, 1, 1},
        {"zmscore", zmscore, -3, 0, 1, 1, 1},
        {"zcard", zcard, 2, 0, 1, 1, 1},
        {"zrem", zrem, -3, flag::write, 1, 1, 1},
        {"zrank", zrank, 3, 0, 1, 1, 1},
        {"zrevrank", zrevrank, 3, 0, 1, 1, 1},
        {"zpopmin", zpopmin, -2, flag::write, 1, 1, 1},
        {"zpopmax", zpopmax, -2, flag::write, 1, 1, 1},
        {"bzpopmin", bzpopmin, -3, flag::write, 1, -2, 1},
        {"bzpopmax", bzpopmax, -3, flag::write, 1, -2, 1},
        {"zmpop", zmpop, -4, flag::write},
        {"bzmpop", bzmpop, -5, flag::write},
        {"zintercard", zintercard, -3, 0},
        {"zrandmember", zrandmember, -2, 0, 1, 1, 1},
        {"zunion", show_scored<ScoredOperation::combination>, -3, 0},
        {"zinter", show_scored<ScoredOperation::intersection>, -3, 0},
        {"zdiff", show_scored<ScoredOperation::difference>, -3, 0},
        {"zunionstore", store_scored<ScoredOperation::combination>, -4, flag::write | flag::grows,
         1, 1, 1},
        {"zinterstore", store_scored<ScoredOperation::intersection>, -4, flag::write | flag::grows,
         1, 1, 1},
        {"zdiffstore", store_scored<ScoredOperation::difference>, -4, flag::write | flag::grows, 1,
         1, 1},
    };
    return commands;
}

}  // namespace kv
