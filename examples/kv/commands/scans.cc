// KEYS, SCAN, HSCAN, SSCAN, ZSCAN.
#include <charconv>

#include "examples/kv/commands.h"
#include "examples/kv/glob.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

struct Scan {
    std::uint64_t cursor = 0;
    std::optional<ByteView> pattern;
    std::optional<std::string> type;  // in capitals
    std::size_t count = 10;

    bool takes(ByteView name) const { return !pattern || glob_matches(*pattern, name); }
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
            scan.pattern = call.args[i + 1];
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

void answer(Call& call, std::uint64_t cursor, const std::vector<std::string>& found) {
    call.reply.array(2);
    call.reply.bulk(std::to_string(cursor));
    call.reply.array(found.size());
    for (const std::string& each : found) call.reply.bulk(each);
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
    // Gathered first, because their number stands before them.
    std::vector<const std::string*> found;
    call.keys.for_each([&](const Entry& entry) {
        if (glob_matches(call.args[1], *entry.key)) found.push_back(entry.key);
    });
    call.reply.array(found.size());
    for (const std::string* key : found) call.reply.bulk(*key);
}

void scan_keys(Call& call) {
    Scan scan;
    if (!read_scan(call, 1, true, scan)) return;
    std::vector<std::string> found;
    const std::uint64_t next = walk(scan, [&](std::uint64_t cursor, std::size_t& seen) {
        return call.keys.scan(cursor, [&](const Entry& entry) {
            ++seen;
            if (scan.type && !same_word(to_string(entry.type()), *scan.type)) return;
            if (scan.takes(*entry.key)) found.push_back(*entry.key);
        });
    });
    answer(call, next, found);
}

template <typename T, typename Show>
void scan_elements(Call& call, Show&& show) {
    Scan scan;
    if (!read_scan(call, 2, false, scan)) return;
    T* value = nullptr;
    if (!call.find(call.args[1], value)) return;
    std::vector<std::string> found;
    if (value == nullptr) return answer(call, 0, found);
    const std::uint64_t next = walk(scan, [&](std::uint64_t cursor, std::size_t& seen) {
        const auto take = [&](auto& node) {
            ++seen;
            if (scan.takes(node.key)) show(node, found);
        };
        if constexpr (std::is_same_v<T, SortedSet>) {
            return value->members().scan(cursor, take);
        } else {
            return value->scan(cursor, take);
        }
    });
    answer(call, next, found);
}

void hscan(Call& call) {
    scan_elements<Hash>(call, [](auto& node, std::vector<std::string>& found) {
        found.push_back(node.key);
        found.push_back(node.mapped);
    });
}

void sscan(Call& call) {
    scan_elements<Set>(
        call, [](auto& node, std::vector<std::string>& found) { found.push_back(node.key); });
}

void zscan(Call& call) {
    scan_elements<SortedSet>(call, [](auto& node, std::vector<std::string>& found) {
        found.push_back(node.key);
        found.emplace_back(resp::DoubleText(node.mapped).view());
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
