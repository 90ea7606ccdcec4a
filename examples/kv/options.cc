#include "examples/kv/options.h"

#include <algorithm>
#include <array>
#include <optional>

#include "tiderace/base/units.h"

namespace kv {
namespace {

using tiderace::Error;
using tiderace::fail;
using tiderace::Result;

// Redis writes 100mb, 64k. There "k" is 1,000 and "kb" 1,024; here both are 1,024.
std::optional<std::uint64_t> bytes(std::string_view text) {
    std::string lower;
    for (const char c : text) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    if (lower.ends_with("b") && lower.size() > 1) lower.pop_back();
    return tiderace::parse_bytes(lower);
}

Error wrong(std::string_view name, std::string_view value, std::string_view advice) {
    return Error(0, "option", "--" + std::string(name) + " " + std::string(value), advice);
}

template <typename T>
Result<bool> set_bytes(T& target, std::string_view name, std::string_view value) {
    const auto parsed = bytes(value);
    if (!parsed) return fail(wrong(name, value, "it is a number of bytes: 1048576, 64k, 1g"));
    target = static_cast<T>(*parsed);
    return true;
}

// Places in a command are numbers of 32 bits.
constexpr std::uint64_t bulk_bytes_limit = std::uint64_t{4000} << 20;

Result<bool> set_bulk_bytes(std::size_t& target, std::string_view name, std::string_view value) {
    const auto parsed = bytes(value);
    if (!parsed || *parsed > bulk_bytes_limit) {
        return fail(wrong(name, value, "it is a number of bytes: 1048576, 64k; at most 4000m"));
    }
    target = *parsed;
    return true;
}

Result<bool> set_switch(bool& target, std::string_view name, std::string_view value,
                        std::string_view on, std::string_view off) {
    if (value != on && value != off) {
        return fail(wrong(name, value, "it is " + std::string(on) + " or " + std::string(off)));
    }
    target = value == on;
    return true;
}

Result<bool> set_sync(Sync& target, std::string_view name, std::string_view value) {
    if (value == "always") {
        target = Sync::always;
    } else if (value == "everysec") {
        target = Sync::everysec;
    } else if (value == "no") {
        target = Sync::no;
    } else {
        return fail(wrong(name, value, "it is always, everysec or no"));
    }
    return true;
}

constexpr std::array<std::string_view, 6> evictions{"noeviction",      "allkeys-lru",
                                                    "allkeys-random",  "volatile-lru",
                                                    "volatile-random", "volatile-ttl"};

Result<bool> set_eviction(Eviction& target, std::string_view name, std::string_view value) {
    const auto* const found = std::ranges::find(evictions, value);
    if (found == evictions.end()) {
        return fail(wrong(name, value,
                          "it is noeviction, allkeys-lru, allkeys-random, volatile-lru, "
                          "volatile-random or volatile-ttl"));
    }
    target = static_cast<Eviction>(found - evictions.begin());
    return true;
}

}  // namespace

std::string_view to_string(Eviction policy) {
    return evictions[static_cast<std::size_t>(policy)];
}

const std::string_view usage =
    "usage: kv [--listen ADDRESS]... [OPTION VALUE]...\n"
    "\n"
    "A server of the Redis protocol.\n"
    "\n"
    "  --listen ADDRESS            127.0.0.1:6379; [::1]:7000; unix:/run/kv.sock; port 0: any\n"
    "  --dir FOLDER                of the snapshot and the log (.)\n"
    "  --appendonly yes|no         log each change (no)\n"
    "  --fsync always|everysec|no  when the log is forced to the disk (everysec)\n"
    "  --maxmemory BYTES           0: no limit (0)\n"
    "  --maxmemory-policy NAME     above it: noeviction refuses writes; allkeys-lru drops the "
    "keys\n"
    "                              used longest ago, allkeys-random any; volatile-lru,\n"
    "                              volatile-random and volatile-ttl only keys that expire\n"
    "  --requirepass PASSWORD      what AUTH asks for\n"
    "  --maxclients NUMBER         connections (10000)\n"
    "  --proto-max-bulk-len BYTES  of one argument (512m)\n"
    "  --input-max BYTES           commands of all clients that are incomplete, wait for EXEC or\n"
    "                              for an element, the keys that they watch, the channels that\n"
    "                              they subscribe to, and their names (1g)\n"
    "  --output-max BYTES          unsent answers of all clients (1g)\n"
    "  --subscriber-output-max BYTES\n"
    "                              unsent messages of one subscriber (32m)\n"
    "  --rewrite-min BYTES         size of the log from which it is rewritten by itself (64m)\n"
    "  --engine NAME               auto, epoll, io_uring\n";

Result<bool> set_option(Options& o, std::string_view name, std::string_view value) {
    if (name == "dir") {
        o.folder = value;
    } else if (name == "requirepass") {
        o.password = value;
    } else if (name == "engine") {
        o.engine = value;
    } else if (name == "appendonly") {
        return set_switch(o.log, name, value, "yes", "no");
    } else if (name == "fsync" || name == "appendfsync") {
        return set_sync(o.sync, name, value);
    } else if (name == "maxmemory-policy") {
        return set_eviction(o.eviction, name, value);
    } else if (name == "maxmemory") {
        return set_bytes(o.memory_max, name, value);
    } else if (name == "maxclients") {
        return set_bytes(o.connections_max, name, value);
    } else if (name == "proto-max-bulk-len") {
        return set_bulk_bytes(o.bulk_bytes_max, name, value);
    } else if (name == "input-max") {
        return set_bytes(o.input_bytes_max, name, value);
    } else if (name == "output-max") {
        return set_bytes(o.output_bytes_max, name, value);
    } else if (name == "subscriber-output-max") {
        return set_bytes(o.subscriber_bytes_max, name, value);
    } else if (name == "rewrite-min") {
        return set_bytes(o.rewrite_bytes_min, name, value);
    } else {
        return false;
    }
    return true;
}

std::vector<std::string_view> option_names() {
    return {"dir",         "requirepass",      "appendonly",
            "appendfsync", "maxmemory-policy", "maxmemory",
            "maxclients",  "input-max",        "proto-max-bulk-len",
            "output-max",  "rewrite-min",      "subscriber-output-max"};
}

std::string option_text(const Options& o, std::string_view name) {
    if (name == "dir") return o.folder;
    if (name == "requirepass") return o.password;
    if (name == "appendonly") return o.log ? "yes" : "no";
    if (name == "appendfsync") {
        return o.sync == Sync::always ? "always" : o.sync == Sync::no ? "no" : "everysec";
    }
    if (name == "maxmemory-policy") return std::string(to_string(o.eviction));
    if (name == "maxmemory") return std::to_string(o.memory_max);
    if (name == "maxclients") return std::to_string(o.connections_max);
    if (name == "input-max") return std::to_string(o.input_bytes_max);
    if (name == "proto-max-bulk-len") return std::to_string(o.bulk_bytes_max);
    if (name == "output-max") return std::to_string(o.output_bytes_max);
    if (name == "rewrite-min") return std::to_string(o.rewrite_bytes_min);
    return std::to_string(o.subscriber_bytes_max);
}

Result<Options> parse_options(const std::vector<std::string_view>& words) {
    constexpr std::string_view advice = "there is none; kv --help lists all";
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string_view name = words[i];
        if (!name.starts_with("--")) return fail(Error(0, "option", name, advice));
        name.remove_prefix(2);
        std::string_view value;
        if (const std::size_t equals = name.find('='); equals != std::string_view::npos) {
            value = name.substr(equals + 1);
            name = name.substr(0, equals);
        } else if (i + 1 < words.size()) {
            value = words[++i];
        } else {
            Options unused;
            const bool known = name == "listen" || set_option(unused, name, "").value_or(true);
            return fail(Error(0, "option", words[i], known ? "it needs a value" : advice));
        }
        if (name == "listen") {
            options.listen.emplace_back(value);
            continue;
        }
        const auto known = set_option(options, name, value);
        if (!known) return fail(known.error());
        if (!*known) return fail(Error(0, "option", "--" + std::string(name), advice));
    }
    if (options.listen.empty()) options.listen = {"127.0.0.1:6379"};
    return options;
}

}  // namespace kv
