#include "tiderace/db/redis/command.h"

#include <algorithm>
#include <array>

#include "tiderace/base/ascii.h"
#include "tiderace/db/error.h"
#include "tiderace/resp/writer.h"

namespace tiderace::db::redis {
namespace {

// Sent again after a lost connection, because doing them twice changes nothing.
constexpr std::array<std::string_view, 66> readers = {
    "bitcount",   "bitpos",    "dbsize",     "dump",        "echo",        "exists",
    "expiretime", "geodist",   "geohash",    "geopos",      "geosearch",   "get",
    "getbit",     "getrange",  "hexists",    "hget",        "hgetall",     "hkeys",
    "hlen",       "hmget",     "hrandfield", "hscan",       "hstrlen",     "hvals",
    "info",       "keys",      "lcs",        "lindex",      "llen",        "lolwut",
    "lpos",       "lrange",    "mget",       "pexpiretime", "pfcount",     "ping",
    "pttl",       "randomkey", "scan",       "scard",       "sdiff",       "sinter",
    "sintercard", "sismember", "smembers",   "smismember",  "srandmember", "sscan",
    "strlen",     "substr",    "sunion",     "time",        "ttl",         "type",
    "xlen",       "xpending",  "xrange",     "xrevrange",   "zcard",       "zcount",
    "zmscore",    "zrange",    "zrank",      "zrevrank",    "zscan",       "zscore"};
// Their first argument is no key: any server of a cluster does them.
constexpr std::array<std::string_view, 38> keyless = {
    "acl",         "asking",     "auth",     "bgrewriteaof", "bgsave",    "client",
    "cluster",     "command",    "config",   "dbsize",       "debug",     "discard",
    "echo",        "exec",       "flushall", "flushdb",      "function",  "hello",
    "info",        "keys",       "lastsave", "latency",      "module",    "multi",
    "ping",        "psubscribe", "publish",  "punsubscribe", "randomkey", "scan",
    "script",      "select",     "slowlog",  "subscribe",    "swapdb",    "time",
    "unsubscribe", "wait"};
// On the shared connection all other commands would wait behind them.
constexpr std::array<std::string_view, 11> blockers = {
    "blmove",   "blmpop",   "blpop",    "brpop", "brpoplpush", "bzmpop",
    "bzpopmax", "bzpopmin", "shutdown", "wait",  "waitaof"};
// They change the connection, which other tasks use, too.
constexpr std::array<std::string_view, 18> changers = {
    "asking",    "auth",       "discard", "exec",         "hello",     "monitor",
    "multi",     "psubscribe", "psync",   "punsubscribe", "quit",      "readonly",
    "readwrite", "reset",      "select",  "ssubscribe",   "subscribe", "sync"};
constexpr std::array<std::string_view, 4> more_changers = {"sunsubscribe", "unsubscribe", "unwatch",
                                                           "watch"};
// Subcommands of CLIENT and SCRIPT that change the connection. CLIENT REPLY would leave the
// commands of other tasks without replies.
constexpr std::array<std::string_view, 8> changing_subcommands = {
    "caching", "capa", "debug", "import-source", "no-evict", "no-touch", "reply", "tracking"};
// Their first key is not the first argument, or not always there.
constexpr std::array<std::string_view, 21> odd_keys = {
    "bitop", "blmpop",   "bzmpop",     "eval",   "eval_ro", "evalsha",    "evalsha_ro",
    "fcall", "fcall_ro", "lmpop",      "memory", "object",  "sintercard", "xgroup",
    "xinfo", "xread",    "xreadgroup", "zdiff",  "zinter",  "zmpop",      "zunion"};

struct Known {
    static constexpr std::uint8_t reads = 1, keyless = 2, blocks = 4, changes = 8, odd_key = 16;
    std::string_view name;
    std::uint8_t flags = 0;
};

constexpr std::size_t known_max = readers.size() + keyless.size() + blockers.size() +
                                  changers.size() + more_changers.size() + odd_keys.size();

// One table, so that a command costs one search. Some names are in it twice.
constexpr auto known = [] {
    std::array<Known, known_max> all;
    std::size_t size = 0;
    const auto add = [&](std::span<const std::string_view> names, std::uint8_t flag) {
        for (const std::string_view name : names) all[size++] = {name, flag};
    };
    add(readers, Known::reads);
    add(keyless, Known::keyless);
    add(blockers, Known::blocks);
    add(changers, Known::changes);
    add(more_changers, Known::changes);
    add(odd_keys, Known::odd_key);
    std::ranges::sort(all, {}, &Known::name);
    return all;
}();

std::uint8_t flags_of(std::string_view name) {
    std::uint8_t flags = 0;
    for (const Known& each : std::ranges::equal_range(known, name, {}, &Known::name)) {
        flags |= each.flags;
    }
    return flags;
}

// The index of the first key among the arguments; 0: there is none.
std::size_t key_index(const std::string& name, std::uint8_t flags, Arguments arguments) {
    if ((flags & Known::keyless) != 0) return 0;
    if ((flags & Known::odd_key) == 0) return arguments.size() > 1 ? 1 : 0;
    // A number of keys, and then the keys: none if the number is 0.
    const auto behind_count = [&](std::size_t at) -> std::size_t {
        return at + 1 < arguments.size() && arguments[at] != "0" ? at + 1 : 0;
    };
    if (name == "eval" || name == "evalsha" || name == "fcall" || name == "eval_ro" ||
        name == "evalsha_ro" || name == "fcall_ro") {
        return behind_count(2);
    }
    if (name == "zunion" || name == "zinter" || name == "zdiff" || name == "sintercard" ||
        name == "lmpop" || name == "zmpop") {
        return behind_count(1);
    }
    if (name == "blmpop" || name == "bzmpop") return behind_count(2);
    if (name == "object" || name == "memory" || name == "xinfo" || name == "xgroup" ||
        name == "bitop") {
        return arguments.size() > 2 ? 2 : 0;
    }
    if (name == "xread" || name == "xreadgroup") {
        for (std::size_t i = 1; i + 1 < arguments.size(); ++i) {
            if (equals_ignoring_case(arguments[i], "streams")) return i + 1;
        }
        return 0;
    }
    return arguments.size() > 1 ? 1 : 0;
}

Use use_of(const std::string& name, std::uint8_t flags, Arguments arguments) {
    if ((flags & Known::blocks) != 0) return Use::blocking;
    if ((flags & Known::changes) != 0) return Use::connection;
    if (name == "xread" || name == "xreadgroup") {
        for (const std::string_view word : arguments) {
            if (equals_ignoring_case(word, "block")) return Use::blocking;
        }
    }
    if ((name == "client" || name == "script") && arguments.size() > 1 &&
        std::ranges::binary_search(changing_subcommands, lower_case(arguments[1]))) {
        return Use::connection;
    }
    return Use::shared;
}

constexpr std::array<std::uint16_t, 256> make_crc_table() {
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < 256; ++byte) {
        auto crc = static_cast<std::uint16_t>(byte << 8);
        for (int bit = 0; bit < 8; ++bit) {
            const bool carry = (crc & 0x8000) != 0;
            crc = static_cast<std::uint16_t>(crc << 1);
            if (carry) crc ^= 0x1021;
        }
        table[byte] = crc;
    }
    return table;
}
constexpr auto crc_table = make_crc_table();

}  // namespace

Command make_command(Arguments arguments) {
    if (arguments.empty()) throw Error(Fault::syntax, "a command without words");
    Command command;
    const std::string name = lower_case(arguments[0]);
    const std::uint8_t flags = flags_of(name);
    const std::size_t key = key_index(name, flags, arguments);
    std::size_t bytes = 16;
    for (const std::string_view word : arguments) bytes += word.size() + 16;
    command.bytes.reserve(bytes);
    resp::Writer writer(command.bytes);
    writer.array(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        writer.bulk(arguments[i]);
        if (i != key || key == 0) continue;
        command.has_key = true;
        command.key_bytes = static_cast<std::uint32_t>(arguments[i].size());
        // Without the CR LF behind it.
        command.key_at = static_cast<std::uint32_t>(command.bytes.size() - arguments[i].size() - 2);
    }
    command.reads = (flags & Known::reads) != 0;
    command.use = use_of(name, flags, arguments);
    return command;
}

std::uint16_t slot_of(std::string_view key) {
    if (const std::size_t open = key.find('{'); open != key.npos) {
        const std::size_t close = key.find('}', open + 1);
        // A tag in braces puts keys into one slot ("{user1}.name"), so that one command may take
        // several of them. Empty braces are no tag.
        if (close != key.npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
    }
    // CRC-16/XMODEM of the key (Redis Cluster specification, "Key distribution model").
    std::uint16_t crc = 0;
    for (const char c : key) {
        crc = static_cast<std::uint16_t>(
            (crc << 8) ^ crc_table[((crc >> 8) ^ static_cast<unsigned char>(c)) & 0xFF]);
    }
    return crc % slots;
}

}  // namespace tiderace::db::redis
