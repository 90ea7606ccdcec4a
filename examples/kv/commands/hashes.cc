// Hashes: HSET, HGETALL, HINCRBY and their relatives.
#include <cmath>
#include <cstdlib>

#include "examples/kv/commands.h"
#include "examples/kv/commands/random_nodes.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

using Index = std::int64_t;

// Answered by nothing: the number of new fields.
std::optional<Index> store(Call& call) {
    if (call.args.size() % 2 != 0) {
        call.reply.error("ERR wrong number of arguments for '" + std::string(call.args[0]) +
                         "' command");
        return std::nullopt;
    }
    Hash* hash = call.find_or_make<Hash>(call.args[1]);
    if (hash == nullptr) return std::nullopt;
    Index added = 0;
    for (std::size_t i = 2; i < call.args.size(); i += 2) {
        const auto [node, is_new] = hash->insert(call.args[i]);
        node->mapped = call.args[i + 1];
        added += is_new ? 1 : 0;
    }
    call.changed(call.args[1]);
    return added;
}

void hset(Call& call) {
    if (const auto added = store(call)) call.reply.integer(*added);
}

void hmset(Call& call) {
    if (store(call)) call.reply.ok();
}

void hsetnx(Call& call) {
    Hash* hash = nullptr;
    if (!call.find(call.args[1], hash)) return;
    if (hash != nullptr && hash->find(call.args[2]) != nullptr) return call.reply.integer(0);
    hash = call.find_or_make<Hash>(call.args[1]);
    hash->insert(call.args[2]).first->mapped = call.args[3];
    call.changed(call.args[1]);
    call.reply.integer(1);
}

void answer(Call& call, Hash* hash, ByteView field) {
    const auto* node = hash != nullptr ? hash->find(field) : nullptr;
    if (node == nullptr) return call.reply.null();
    call.reply.bulk(node->mapped);
}

void hget(Call& call) {
    Hash* hash = nullptr;
    if (call.find(call.args[1], hash)) answer(call, hash, call.args[2]);
}

void hmget(Call& call) {
    Hash* hash = nullptr;
    if (!call.find(call.args[1], hash)) return;
    call.reply.array(call.args.size() - 2);
    for (const ByteView field : call.args.from(2)) answer(call, hash, field);
}

void hgetall(Call& call) {
    Hash* hash = nullptr;
    if (!call.find(call.args[1], hash)) return;
    call.reply.map(hash != nullptr ? hash->size() : 0);
    if (hash == nullptr) return;
    hash->for_each([&call](auto& node) {
        call.reply.bulk(node.key);
        call.reply.bulk(node.mapped);
    });
}

void hkeys(Call& call) {
    Hash* hash = nullptr;
    if (!call.find(call.args[1], hash)) return;
    call.reply.array(hash != nullptr ? hash->size() : 0);
    if (hash != nullptr) hash->for_each([&call](auto& node) { call.reply.bulk(node.key); });
}

void hvals(Call& call) {
    Hash* hash = nullptr;
    if (!call.find(call.args[1], hash)) return;
    call.reply.array(hash != nullptr ? hash->size() : 0);
    if (hash != nullptr) hash->for_each([&call](auto& node) { call.reply.bulk(node.mapped); });
}

void hdel(Call& call) {
    Hash* hash = nullptr;
    if (!call.find(call.args[1], hash)) return;
    Index gone = 0;
    if (hash != nullptr) {
        for (const ByteView field : call.args.from(2)) gone += hash->erase(field) ? 1 : 0;
    }
    call.reply.integer(gone);
    if (gone > 0) call.shrank(call.args[1], *hash);
}

void hexists(Call& call) {
    Hash* hash = nullptr;
    if (!call.find(call.args[1], hash)) return;
    call.reply.integer(hash != nullptr && hash->find(call.args[2]) != nullptr ? 1 : 0);
}

void hlen(Call& call) {
    Hash* hash = nullptr;
    if (!call.find(call.args[1], hash)) return;
    call.reply.integer(hash != nullptr ? static_cast<Index>(hash->size()) : 0);
}

void hstrlen(Call& call) {
    Hash* hash = nullptr;
    if (!call.find(call.args[1], hash)) return;
    const auto* node = hash != nullptr ? hash->find(call.args[2]) : nullptr;
    call.reply.integer(node != nullptr ? static_cast<Index>(node->mapped.size()) : 0);
}

void hincrby(Call& call) {
    const auto by = call.integer(call.args[3]);
    if (!by) return;
    Hash* hash = nullptr;
    if (!call.find(call.args[1], hash)) return;
    const auto* old = hash != nullptr ? hash->find(call.args[2]) : nullptr;
    const auto value = old != nullptr ? strict_integer(old->mapped) : Index{0};
    if (!value) return call.reply.error("ERR hash value is not an integer");
    Index sum = 0;
    if (__builtin_add_overflow(*value, *by, &sum)) {
        return call.reply.error("ERR increment or decrement would overflow");
    }
    // Only now: a refused value must not leave an empty hash.
    hash = call.find_or_make<Hash>(call.args[1]);
    hash->insert(call.args[2]).first->mapped = std::to_string(sum);
    call.changed(call.args[1]);
    call.reply.integer(sum);
}

void hincrbyfloat(Call& call) {
    if (!call.real(call.args[3])) return;
    Hash* hash = nullptr;
    if (!call.find(call.args[1], hash)) return;
    const auto* old = hash != nullptr ? hash->find(call.args[2]) : nullptr;
    if (old != nullptr && !resp::parse_double(old->mapped)) {
        return call.reply.error("ERR hash value is not a float");
    }
    // long double, as in Redis: 0.1 + 0.2 is then "0.3".
    const long double value = old != nullptr ? std::strtold(old->mapped.c_str(), nullptr) : 0;
    const long double sum = value + std::strtold(std::string(call.args[3]).c_str(), nullptr);
    if (std::isnan(sum) || std::isinf(sum)) {
        return call.reply.error("ERR increment would produce NaN or Infinity");
    }
    const std::string text = float_text(sum);
    hash = call.find_or_make<Hash>(call.args[1]);
    hash->insert(call.args[2]).first->mapped = text;
    call.changed(call.args[1]);
    // The sum, because another machine might round otherwise.
    call.log_as({"HSET", call.args[1], call.args[2], text});
    call.reply.bulk(text);
}

void hrandfield(Call& call) {
    Hash* hash = nullptr;
    if (!call.find(call.args[1], hash)) return;
    if (call.args.size() == 2) {
        if (hash == nullptr) return call.reply.null();
        return call.reply.bulk(hash->random(call.server.random()).key);
    }
    const auto count = call.integer(call.args[2]);
    if (!count) return;
    const bool values = call.args.size() == 4 && same_word(call.args[3], "WITHVALUES");
    if (call.args.size() > 4 || (call.args.size() == 4 && !values)) return call.syntax_error();
    const auto nodes = random_nodes(hash, *count, call.server.random(), [values](const auto& node) {
        return node.key.size() + (values ? node.mapped.size() : 0);
    });
    if (!nodes) return call.reply.error("ERR value is out of range");
    // RESP 3 nests pairs, RESP 2 lists them flat.
    const bool pairs = values && call.reply.protocol() == resp::Protocol::resp3;
    call.reply.array(values && !pairs ? 2 * nodes->size() : nodes->size());
    for (const auto* node : *nodes) {
        if (pairs) call.reply.array(2);
        call.reply.bulk(node->key);
        if (values) call.reply.bulk(node->mapped);
    }
}

}  // namespace

Commands hash_commands() {
    static constexpr Command commands[] = {
        {"hset", hset, -4, flag::write | flag::grows, 1, 1, 1},
        {"hmset", hmset, -4, flag::write | flag::grows, 1, 1, 1},
        {"hsetnx", hsetnx, 4, flag::write | flag::grows, 1, 1, 1},
        {"hget", hget, 3, 0, 1, 1, 1},
        {"hmget", hmget, -3, 0, 1, 1, 1},
        {"hgetall", hgetall, 2, 0, 1, 1, 1},
        {"hkeys", hkeys, 2, 0, 1, 1, 1},
        {"hvals", hvals, 2, 0, 1, 1, 1},
        {"hdel", hdel, -3, flag::write, 1, 1, 1},
        {"hexists", hexists, 3, 0, 1, 1, 1},
        {"hlen", hlen, 2, 0, 1, 1, 1},
        {"hstrlen", hstrlen, 3, 0, 1, 1, 1},
        {"hincrby", hincrby, 4, flag::write | flag::grows, 1, 1, 1},
        {"hincrbyfloat", hincrbyfloat, 4, flag::write | flag::grows, 1, 1, 1},
        {"hrandfield", hrandfield, -2, 0, 1, 1, 1},
    };
    return commands;
}

}  // namespace kv
