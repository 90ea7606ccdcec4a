// KEYS, SCAN, HSCAN, SSCAN, ZSCAN.
#include <charconv>
#include <type_traits>

#include "examples/kv/commands.h"
#include "examples/kv/glob.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

struct Scan {
    std::uint64_t cursor = 0;
    std::optional<Glob> pattern;
    std::optional<std::string> type;  // in capitals
    std::size_t count = 10;

    bool takes(ByteView name) { return !pattern || pattern->matches(name); }
};

std::optional<std::uint64_t> cursor_of(ByteView text) {
    std::uint64_t cursor = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, cursor);
    if (error != std::errc() || stop != end) return std::nullopt;
    return cursor;
}

bool read_scan(Call& call, std::size_t at, bool may_have_type, Scan& scan) {
    const auto cursor = cursor_of(call.args[at]);
    if (!cursor) {
        call.reply.error("ERR invalid cursor");
        return false;
    }
    scan.cursor = *cursor;
    for (std::size_t i = at + 1; i < call.args.size(); i += 2) {
        const bool has_value = i + 1 < call.args.size();
        if (has_value && same_word(call.args[i], "MATCH")) {
            if (!call.takes_pattern(call.args[i + 1])) return false;
            scan.pattern.emplace(call.args[i + 1]);
        } else if (has_value && same_word(call.args[i], "TYPE") && may_have_type) {
            scan.type.emplace();
            for (const char c : call.args[i + 1]) {
                *scan.type += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
            }
        } else if (has_value && same_word(call.args[i], "COUNT")) {
            const auto count = call.integer(call.args[i + 1]);
            if (!count) return false;
            if (*count < 1) {
                call.syntax_error();
                return false;
            }
            scan.count = static_cast<std::size_t>(*count);
        } else {
            call.syntax_error();
            return false;
        }
    }
    return true;
}

// Writes the head of the answer; its texts follow.
void begin(Call& call, std::uint64_t cursor, std::size_t texts) {
    call.reply.array(2);
    call.reply.bulk(std::to_string(cursor));
    call.reply.array(texts);
}

template <typename Mapped>
Dict<Mapped>& table_of(Dict<Mapped>& dict) {
    return dict;
}
Dict<double>& table_of(SortedSet& set) {
    return set.members();
}

// step(cursor, seen) -> next cursor, until enough elements were seen. Empty buckets count a little.
template <typename Step>
std::uint64_t walk(const Scan& scan, Step&& step) {
    std::uint64_t cursor = scan.cursor;
    std::size_t seen = 0;
    // A table that has shrunk is mostly empty buckets, which must not hold up the loop.
    std::size_t steps_left = scan.count < 1'000'000 ? 10 * scan.count : 10'000'000;
    do {
        cursor = step(cursor, seen);
    } while (cursor != 0 && seen < scan.count && --steps_left > 0);
    return cursor;
}

void keys(Call& call) {
    if (!call.takes_pattern(call.args[1])) return;
    Glob pattern(call.args[1]);
    // Gathered first, because their number stands before them.
    std::vector<const std::string*> found;
    call.keys.for_each([&](const Entry& entry) {
        if (pattern.matches(*entry.key)) found.push_back(entry.key);
    });
    call.reply.array(found.size());
    for (const std::string* key : found) call.reply.bulk(*key);
}

void scan_keys(Call& call) {
    Scan scan;
    if (!read_scan(call, 1, true, scan)) return;
    std::vector<const std::string*> found;
    const std::uint64_t next = walk(scan, [&](std::uint64_t cursor, std::size_t& seen) {
        return call.keys.scan(cursor, [&](const Entry& entry) {
            ++seen;
            if (scan.type && !same_word(to_string(entry.type()), *scan.type)) return;
            if (scan.takes(*entry.key)) found.push_back(entry.key);
        });
    });
    begin(call, next, found.size());
    for (const std::string* key : found) call.reply.bulk(*key);
}

// show(node): `texts` bulk strings.
template <typename T, typename Show>
void scan_elements(Call& call, std::size_t texts, Show&& show) {
    Scan scan;
    if (!read_scan(call, 2, false, scan)) return;
    T* value = nullptr;
    if (!call.find(call.args[1], value)) return;
    if (value == nullptr) return begin(call, 0, 0);
    auto& table = table_of(*value);
    std::vector<typename std::remove_reference_t<decltype(table)>::Node*> found;
    const std::uint64_t next = walk(scan, [&](std::uint64_t cursor, std::size_t& seen) {
        return table.scan(cursor, [&](auto& node) {
            ++seen;
            if (scan.takes(node.key)) found.push_back(&node);
        });
    });
    begin(call, next, texts * found.size());
    for (const auto* node : found) show(*node);
}

void hscan(Call& call) {
    scan_elements<Hash>(call, 2, [&call](const auto& node) {
        call.reply.bulk(node.key);
        call.reply.bulk(node.mapped);
    });
}

void sscan(Call& call) {
    scan_elements<Set>(call, 1, [&call](const auto& node) { call.reply.bulk(node.key); });
}

void zscan(Call& call) {
    scan_elements<SortedSet>(call, 2, [&call](const auto& node) {
        call.reply.bulk(node.key);
        call.reply.bulk(resp::DoubleText(node.mapped).view());
    });
}

}  // namespace

Commands scan_commands() {
    static constexpr Command commands[] = {
        {"keys", keys, 2, 0},
        {"scan", scan_keys, -2, 0},
        {"hscan", hscan, -3, 0, 1, 1, 1},
        {"sscan", sscan, -3, 0, 1, 1, 1},
        {"zscan", zscan, -3, 0, 1, 1, 1},
    };
    return commands;
}

}  // namespace kv
