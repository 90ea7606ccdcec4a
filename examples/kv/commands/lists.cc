// Lists: LPUSH, LRANGE, LMOVE, BLPOP and their relatives.
#include <algorithm>
#include <optional>

#include "examples/kv/commands.h"
#include "examples/kv/commands/counted_keys.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

using Index = std::int64_t;

Index size_of(const List& list) {
    return static_cast<Index>(list.size());
}

void push(Call& call, bool front, bool must_exist) {
    const ByteView key = call.args[1];
    List* list = nullptr;
    if (!call.find(key, list)) return;
    if (list == nullptr && must_exist) return call.reply.integer(0);
    if (list == nullptr) list = call.find_or_make<List>(key);
    for (const ByteView each : call.args.from(2)) {
        if (front) {
            list->emplace_front(each);
        } else {
            list->emplace_back(each);
        }
    }
    call.reply.integer(size_of(*list));
    call.changed(key);
}

void lpush(Call& call) {
    push(call, true, false);
}
void rpush(Call& call) {
    push(call, false, false);
}
void lpushx(Call& call) {
    push(call, true, true);
}
void rpushx(Call& call) {
    push(call, false, true);
}

std::string take(List& list, bool front) {
    std::string element = std::move(front ? list.front() : list.back());
    if (front) {
        list.pop_front();
    } else {
        list.pop_back();
    }
    return element;
}

void pop(Call& call, bool front) {
    const ByteView key = call.args[1];
    if (call.args.size() > 3) return call.syntax_error();
    std::optional<Index> count;
    if (call.args.size() == 3) {
        count = call.integer(call.args[2]);
        if (!count) return;
        if (*count < 0) return call.reply.error("ERR value is out of range, must be positive");
    }
    List* list = nullptr;
    if (!call.find(key, list)) return;
    if (list == nullptr) return count ? call.reply.null_array() : call.reply.null();
    if (!count) {
        call.reply.bulk(take(*list, front));
        return call.shrank(key, *list);
    }
    const Index taken = std::min(*count, size_of(*list));
    call.reply.array(static_cast<std::size_t>(taken));
    for (Index i = 0; i < taken; ++i) call.reply.bulk(take(*list, front));
    if (taken > 0) call.shrank(key, *list);
}

void lpop(Call& call) {
    pop(call, true);
}
void rpop(Call& call) {
    pop(call, false);
}

void llen(Call& call) {
    List* list = nullptr;
    if (call.find(call.args[1], list)) call.reply.integer(list != nullptr ? size_of(*list) : 0);
}

// first to last, both included, negative from the end: the part of 0 … size that they mean.
std::pair<Index, Index> part(Index first, Index last, Index size) {
    if (first < 0) first = std::max<Index>(0, first + size);
    if (last < 0) last += size;
    last = std::min(last, size - 1);
    if (first > last) return {0, 0};
    return {first, last + 1};
}

void lrange(Call& call) {
    const auto first = call.integer(call.args[2]);
    if (!first) return;
    const auto last = call.integer(call.args[3]);
    if (!last) return;
    List* list = nullptr;
    if (!call.find(call.args[1], list)) return;
    if (list == nullptr) return call.reply.array(0);
    const auto [begin, end] = part(*first, *last, size_of(*list));
    call.reply.array(static_cast<std::size_t>(end - begin));
    for (auto at = list->begin() + begin; at != list->begin() + end; ++at) call.reply.bulk(*at);
}

void ltrim(Call& call) {
    const auto first = call.integer(call.args[2]);
    if (!first) return;
    const auto last = call.integer(call.args[3]);
    if (!last) return;
    List* list = nullptr;
    if (!call.find(call.args[1], list)) return;
    call.reply.ok();
    if (list == nullptr) return;
    const auto [begin, end] = part(*first, *last, size_of(*list));
    // The end first: without the front, `end` would be another place.
    list->erase(list->begin() + end, list->end());
    list->erase(list->begin(), list->begin() + begin);
    call.shrank(call.args[1], *list);
}

// nullptr: there is none.
std::string* at(List& list, Index index) {
    if (index < 0) index += size_of(list);
    if (index < 0 || index >= size_of(list)) return nullptr;
    return &list[static_cast<std::size_t>(index)];
}

void lindex(Call& call) {
    const auto index = call.integer(call.args[2]);
    if (!index) return;
    List* list = nullptr;
    if (!call.find(call.args[1], list)) return;
    const std::string* element = list != nullptr ? at(*list, *index) : nullptr;
    if (element == nullptr) return call.reply.null();
    call.reply.bulk(*element);
}

void lset(Call& call) {
    List* list = nullptr;
    if (!call.find(call.args[1], list)) return;
    if (list == nullptr) return call.reply.error("ERR no such key");
    const auto index = call.integer(call.args[2]);
    if (!index) return;
    std::string* element = at(*list, *index);
    if (element == nullptr) return call.reply.error("ERR index out of range");
    *element = call.args[3];
    call.changed(call.args[1]);
    call.reply.ok();
}

void linsert(Call& call) {
    const bool before = same_word(call.args[2], "BEFORE");
    if (!before && !same_word(call.args[2], "AFTER")) return call.syntax_error();
    List* list = nullptr;
    if (!call.find(call.args[1], list)) return;
    if (list == nullptr) return call.reply.integer(0);
    const auto found = std::ranges::find(*list, call.args[3]);
    if (found == list->end()) return call.reply.integer(-1);
    list->emplace(before ? found : found + 1, call.args[4]);
    call.changed(call.args[1]);
    call.reply.integer(size_of(*list));
}

void lrem(Call& call) {
    const auto count = call.integer(call.args[2]);
    if (!count) return;
    List* list = nullptr;
    if (!call.find(call.args[1], list)) return;
    if (list == nullptr) return call.reply.integer(0);
    const ByteView element = call.args[3];
    // Unsigned, because -INT64_MIN does not fit into the signed type.
    std::uint64_t left = *count < 0   ? 0 - static_cast<std::uint64_t>(*count)
                         : *count > 0 ? static_cast<std::uint64_t>(*count)
                                      : UINT64_MAX;
    const std::size_t before = list->size();
    const auto goes = [&](const std::string& each) {
        if (left == 0 || each != element) return false;
        --left;
        return true;
    };
    if (*count < 0) {
        // From the tail on, because of the sign: erase_if() goes from the front.
        std::ranges::reverse(*list);
        std::erase_if(*list, goes);
        std::ranges::reverse(*list);
    } else {
        std::erase_if(*list, goes);
    }
    const std::size_t gone = before - list->size();
    call.reply.integer(static_cast<Index>(gone));
    if (gone > 0) call.shrank(call.args[1], *list);
}

struct Search {
    Index rank = 1;
    std::optional<Index> count;
    Index length_max = 0;  // 0: all
};

bool read_search(Call& call, Search& search) {
    for (std::size_t i = 3; i < call.args.size(); i += 2) {
        if (i + 1 == call.args.size()) {
            call.syntax_error();
            return false;
        }
        const auto number = call.integer(call.args[i + 1]);
        if (!number) return false;
        // INT64_MIN has no positive counterpart, which lpos() needs.
        if (same_word(call.args[i], "RANK") && *number != 0 && *number != INT64_MIN) {
            search.rank = *number;
        } else if (same_word(call.args[i], "COUNT") && *number >= 0) {
            search.count = *number;
        } else if (same_word(call.args[i], "MAXLEN") && *number >= 0) {
            search.length_max = *number;
        } else {
            call.syntax_error();
            return false;
        }
    }
    return true;
}

void lpos(Call& call) {
    Search search;
    if (!read_search(call, search)) return;
    List* list = nullptr;
    if (!call.find(call.args[1], list)) return;
    std::vector<Index> found;
    const bool backwards = search.rank < 0;
    Index skip = (backwards ? -search.rank : search.rank) - 1;
    const Index wanted = search.count.value_or(1);
    const Index size = list != nullptr ? size_of(*list) : 0;
    const Index looks = search.length_max > 0 ? std::min(size, search.length_max) : size;
    for (Index i = 0; i < looks && (wanted == 0 || static_cast<Index>(found.size()) < wanted);
         ++i) {
        const Index index = backwards ? size - 1 - i : i;
        if ((*list)[static_cast<std::size_t>(index)] != call.args[2]) continue;
        if (skip-- <= 0) found.push_back(index);
    }
    if (search.count) {
        call.reply.array(found.size());
        for (const Index each : found) call.reply.integer(each);
    } else if (found.empty()) {
        call.reply.null();
    } else {
        call.reply.integer(found[0]);
    }
}

// "LEFT": true.
std::optional<bool> side(Call& call, ByteView word) {
    if (same_word(word, "LEFT")) return true;
    if (same_word(word, "RIGHT")) return false;
    call.syntax_error();
    return std::nullopt;
}

// False: there is nothing to move, and nothing was answered.
bool move(Call& call, bool from_front, bool to_front) {
    List* from = nullptr;
    if (!call.find_awaited(call.args[1], from)) return true;
    if (from == nullptr) return false;
    List* to = nullptr;
    // Before anything is taken: an element must not be lost to a key of another type.
    if (!call.find(call.args[2], to)) return true;
    std::string element = take(*from, from_front);
    call.reply.bulk(element);
    // Only now: a list that is made must not stay empty if there is nothing to move.
    to = call.find_or_make<List>(call.args[2]);
    if (to_front) {
        to->push_front(std::move(element));
    } else {
        to->push_back(std::move(element));
    }
    call.shrank(call.args[1], *from);
    call.changed(call.args[2]);
    // As the plain command, whatever it was called as: a replay has nothing to wait for.
    call.log_as({"LMOVE", call.args[1], call.args[2], from_front ? "LEFT" : "RIGHT",
                 to_front ? "LEFT" : "RIGHT"});
    return true;
}

void lmove(Call& call) {
    const auto from = side(call, call.args[3]);
    if (!from) return;
    const auto to = side(call, call.args[4]);
    if (!to) return;
    if (!move(call, *from, *to)) call.reply.null();
}

void rpoplpush(Call& call) {
    if (!move(call, false, true)) call.reply.null();
}

void pop_first(Call& call, std::string_view name, bool front) {
    const std::size_t last = call.args.size() - 1;
    const auto seconds = call.timeout(call.args[last]);
    if (!seconds) return;
    for (std::size_t i = 1; i < last; ++i) {
        List* list = nullptr;
        if (!call.find_awaited(call.args[i], list)) return;
        if (list == nullptr) continue;
        call.reply.array(2);
        call.reply.bulk(call.args[i]);
        call.reply.bulk(take(*list, front));
        call.shrank(call.args[i], *list);
        // The one key that gave something, so that a replay need not look for it.
        return call.log_as({front ? "LPOP" : "RPOP", call.args[i]});
    }
    call.wait_for(name, call.args.part(1, last), *seconds);
}

void blpop(Call& call) {
    pop_first(call, "blpop", true);
}
void brpop(Call& call) {
    pop_first(call, "brpop", false);
}

// False: the keys are empty, and nothing was answered.
bool pop_several(Call& call, const MultiPop& wanted) {
    for (const ByteView key : wanted.keys) {
        List* list = nullptr;
        if (!call.find_awaited(key, list)) return true;
        if (list == nullptr) continue;
        const Index taken = std::min(wanted.count, size_of(*list));
        call.reply.array(2);
        call.reply.bulk(key);
        call.reply.array(static_cast<std::size_t>(taken));
        for (Index i = 0; i < taken; ++i) call.reply.bulk(take(*list, wanted.first));
        call.shrank(key, *list);
        call.log_as({wanted.first ? "LPOP" : "RPOP", key, std::to_string(taken)});
        return true;
    }
    return false;
}

void lmpop(Call& call) {
    const auto wanted = read_multi_pop(call, 1, "LEFT", "RIGHT");
    if (wanted && !pop_several(call, *wanted)) call.reply.null_array();
}

void blmpop(Call& call) {
    const auto seconds = call.timeout(call.args[1]);
    if (!seconds) return;
    const auto wanted = read_multi_pop(call, 2, "LEFT", "RIGHT");
    if (wanted && !pop_several(call, *wanted)) {
        call.wait_for("blmpop", wanted->keys, *seconds);
    }
}

void blmove(Call& call) {
    const auto from = side(call, call.args[3]);
    if (!from) return;
    const auto to = side(call, call.args[4]);
    if (!to) return;
    const auto seconds = call.timeout(call.args[5]);
    if (!seconds) return;
    if (!move(call, *from, *to)) call.wait_for("blmove", call.args.part(1, 2), *seconds);
}

void brpoplpush(Call& call) {
    const auto seconds = call.timeout(call.args[3]);
    if (!seconds) return;
    if (!move(call, false, true)) call.wait_for("brpoplpush", call.args.part(1, 2), *seconds);
}

}  // namespace

Commands list_commands() {
    static constexpr Command commands[] = {
        {"lpush", lpush, -3, flag::write | flag::grows, 1, 1, 1},
        {"rpush", rpush, -3, flag::write | flag::grows, 1, 1, 1},
        {"lpushx", lpushx, -3, flag::write | flag::grows, 1, 1, 1},
        {"rpushx", rpushx, -3, flag::write | flag::grows, 1, 1, 1},
        {"lpop", lpop, -2, flag::write, 1, 1, 1},
        {"rpop", rpop, -2, flag::write, 1, 1, 1},
        {"llen", llen, 2, 0, 1, 1, 1},
        {"lrange", lrange, 4, 0, 1, 1, 1},
        {"ltrim", ltrim, 4, flag::write, 1, 1, 1},
        {"lindex", lindex, 3, 0, 1, 1, 1},
        {"lset", lset, 4, flag::write | flag::grows, 1, 1, 1},
        {"linsert", linsert, 5, flag::write | flag::grows, 1, 1, 1},
        {"lrem", lrem, 4, flag::write, 1, 1, 1},
        {"lpos", lpos, -3, 0, 1, 1, 1},
        {"lmove", lmove, 5, flag::write | flag::grows, 1, 2, 1},
        {"rpoplpush", rpoplpush, 3, flag::write | flag::grows, 1, 2, 1},
        {"lmpop", lmpop, -4, flag::write},
        {"blmpop", blmpop, -5, flag::write},
        {"blpop", blpop, -3, flag::write, 1, -2, 1},
        {"brpop", brpop, -3, flag::write, 1, -2, 1},
        {"blmove", blmove, 6, flag::write | flag::grows, 1, 2, 1},
        {"brpoplpush", brpoplpush, 4, flag::write | flag::grows, 1, 2, 1},
    };
    return commands;
}

}  // namespace kv
