// Sets: SADD, SINTER, SPOP and their relatives.
#include <algorithm>

#include "examples/kv/commands.h"
#include "examples/kv/commands/counted_keys.h"
#include "examples/kv/commands/random_nodes.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

using Index = std::int64_t;

void sadd(Call& call) {
    Set* set = call.find_or_make<Set>(call.args[1]);
    if (set == nullptr) return;
    Index added = 0;
    for (const ByteView member : call.args.from(2)) added += set->insert(member).second ? 1 : 0;
    if (added > 0) call.changed(call.args[1]);
    call.reply.integer(added);
}

void srem(Call& call) {
    Set* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    Index gone = 0;
    if (set != nullptr) {
        for (const ByteView member : call.args.from(2)) gone += set->erase(member) ? 1 : 0;
    }
    call.reply.integer(gone);
    if (gone > 0) call.shrank(call.args[1], *set);
}

void sismember(Call& call) {
    Set* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    call.reply.integer(set != nullptr && set->find(call.args[2]) != nullptr ? 1 : 0);
}

void smismember(Call& call) {
    Set* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    call.reply.array(call.args.size() - 2);
    for (const ByteView member : call.args.from(2)) {
        call.reply.integer(set != nullptr && set->find(member) != nullptr ? 1 : 0);
    }
}

void scard(Call& call) {
    Set* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    call.reply.integer(set != nullptr ? static_cast<Index>(set->size()) : 0);
}

void smembers(Call& call) {
    Set* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    call.reply.set(set != nullptr ? set->size() : 0);
    if (set != nullptr) set->for_each([&call](auto& node) { call.reply.bulk(node.key); });
}

void smove(Call& call) {
    Set* from = nullptr;
    Set* to = nullptr;
    if (!call.find(call.args[1], from)) return;
    // As Redis: without a source the destination's type does not matter.
    if (from == nullptr) return call.reply.integer(0);
    if (!call.find(call.args[2], to)) return;
    const ByteView member = call.args[3];
    if (from->find(member) == nullptr) return call.reply.integer(0);
    call.reply.integer(1);
    if (from == to) return;
    from->erase(member);
    // `from` stays where it is, whatever the table does: keys hold their sets by pointer.
    const bool is_new = call.find_or_make<Set>(call.args[2])->insert(member).second;
    call.shrank(call.args[1], *from);
    if (is_new) call.changed(call.args[2]);
}

// The log names the members, because a replay would choose others. In small commands,
// because a command has a limit of arguments and of bytes, and a set may have more.
void log_removal(Call& call, ByteView key, const std::vector<std::string>& members) {
    constexpr std::size_t members_max = 1024;          // of a command
    constexpr std::size_t member_bytes_max = 1 << 20;  // of a command of several
    // Together or not at all. EXEC has a MULTI in the log already.
    const bool group = members.size() > 1 && !call.client.in_exec();
    if (group) call.log_as({"MULTI"});
    std::vector<ByteView> words;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (words.empty()) words = {"SREM", key};
        words.push_back(members[i]);
        bytes += members[i].size();
        const bool full = words.size() == members_max || bytes >= member_bytes_max;
        if (!full && i + 1 < members.size()) continue;
        call.log_as(words);
        words.clear();
        bytes = 0;
    }
    if (group) call.log_as({"EXEC"});
}

void spop(Call& call) {
    const ByteView key = call.args[1];
    if (call.args.size() > 3) return call.syntax_error();
    std::optional<Index> count;
    if (call.args.size() == 3) {
        count = call.integer(call.args[2]);
        if (!count) return;
        if (*count < 0) return call.reply.error("ERR value is out of range, must be positive");
    }
    Set* set = nullptr;
    if (!call.find(key, set)) return;
    if (set == nullptr) return count ? call.reply.set(0) : call.reply.null();
    std::vector<std::string> members;
    const auto nodes = random_nodes(set, count.value_or(1), call.server.random());
    for (const auto* node : *nodes) members.push_back(node->key);
    if (count) call.reply.set(members.size());
    for (const std::string& member : members) {
        call.reply.bulk(member);
        set->erase(member);
    }
    if (members.empty()) return;
    call.shrank(key, *set);
    log_removal(call, key, members);
}

void srandmember(Call& call) {
    if (call.args.size() > 3) return call.syntax_error();
    Set* set = nullptr;
    if (!call.find(call.args[1], set)) return;
    if (call.args.size() == 2) {
        if (set == nullptr) return call.reply.null();
        return call.reply.bulk(set->random(call.server.random()).key);
    }
    const auto count = call.integer(call.args[2]);
    if (!count) return;
    const auto nodes = random_nodes(set, *count, call.server.random());
    if (!nodes) return call.reply.error("ERR value is out of range");
    call.reply.array(nodes->size());
    for (const auto* node : *nodes) call.reply.bulk(node->key);
}

enum class Operation { intersection, combination, difference };

// False: one of the keys holds something else, and that was answered.
bool combine(Call& call, Operation operation, resp::Arguments keys,
             std::vector<std::string>& members) {
    std::vector<Set*> sets;
    for (const ByteView key : keys) {
        Set* set = nullptr;
        if (!call.find(key, set)) return false;
        sets.push_back(set);
    }
    const auto has = [](Set* set, ByteView member) {
        return set != nullptr && set->find(member) != nullptr;
    };
    if (operation == Operation::combination) {
        Set all;
        for (Set* set : sets) {
            if (set != nullptr) set->for_each([&all](auto& node) { all.insert(node.key); });
        }
        all.for_each([&members](auto& node) { members.push_back(node.key); });
        return true;
    }
    if (operation == Operation::intersection) {
        // From the smallest, because each of its members is looked up in all the others.
        std::ranges::sort(sets, {}, [](Set* set) { return set != nullptr ? set->size() : 0; });
    }
    if (sets[0] == nullptr) return true;
    sets[0]->for_each([&](auto& node) {
        for (std::size_t i = 1; i < sets.size(); ++i) {
            // An intersection needs each of the others to have it, a difference none.
            if (has(sets[i], node.key) != (operation == Operation::intersection)) return;
        }
        members.push_back(node.key);
    });
    return true;
}

template <Operation operation>
void show(Call& call) {
    std::vector<std::string> members;
    if (!combine(call, operation, call.args.from(1), members)) return;
    call.reply.set(members.size());
    for (const std::string& each : members) call.reply.bulk(each);
}

template <Operation operation>
void store(Call& call) {
    std::vector<std::string> members;
    if (!combine(call, operation, call.args.from(2), members)) return;
    const ByteView key = call.args[1];
    call.reply.integer(static_cast<Index>(members.size()));
    if (members.empty()) {
        if (call.keys.erase(key)) call.changed(key);
        return;
    }
    auto set = std::make_unique<Set>();
    for (const std::string& each : members) set->insert(each);
    call.keys.set(key, std::move(set));
    call.changed(key);
}

void sintercard(Call& call) {
    const auto read = read_limited_keys(call);
    if (!read) return;
    std::vector<std::string> members;
    if (!combine(call, Operation::intersection, read->keys, members)) return;
    call.reply.integer(read->limited(members.size()));
}

}  // namespace

Commands set_commands() {
    static constexpr Command commands[] = {
        {"sadd", sadd, -3, flag::write | flag::grows, 1, 1, 1},
        {"srem", srem, -3, flag::write, 1, 1, 1},
        {"sismember", sismember, 3, 0, 1, 1, 1},
        {"smismember", smismember, -3, 0, 1, 1, 1},
        {"scard", scard, 2, 0, 1, 1, 1},
        {"smembers", smembers, 2, 0, 1, 1, 1},
        {"smove", smove, 4, flag::write, 1, 2, 1},
        {"spop", spop, -2, flag::write, 1, 1, 1},
        {"srandmember", srandmember, -2, 0, 1, 1, 1},
        {"sinter", show<Operation::intersection>, -2, 0, 1, -1, 1},
        {"sunion", show<Operation::combination>, -2, 0, 1, -1, 1},
        {"sdiff", show<Operation::difference>, -2, 0, 1, -1, 1},
        {"sinterstore", store<Operation::intersection>, -3, flag::write | flag::grows, 1, -1, 1},
        {"sunionstore", store<Operation::combination>, -3, flag::write | flag::grows, 1, -1, 1},
        {"sdiffstore", store<Operation::difference>, -3, flag::write | flag::grows, 1, -1, 1},
        {"sintercard", sintercard, -3, 0},
    };
    return commands;
}

}  // namespace kv
