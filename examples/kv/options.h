// Options: what the command line and CONFIG SET may choose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/result.h"

namespace kv {

// When the log is forced to the disk.
enum class Sync : std::uint8_t {
    no,        // when the system likes
    everysec,  // once a second: a crash of the machine loses a second
    always,    // before it is answered
};

// Which keys make room above the memory limit.
enum class Eviction : std::uint8_t {
    none,             // none: writes are refused
    allkeys_lru,      // the one used longest ago
    allkeys_random,   // any
    volatile_lru,     // of those with an expiry, the one used longest ago
    volatile_random,  // of those with an expiry, any
    volatile_ttl,     // the one that expires first
};

std::string_view to_string(Eviction policy);

struct Options {
    std::vector<std::string> listen;  // 127.0.0.1:6379 if none is given
    std::string folder = ".";         // of the snapshot and the log
    bool log = false;                 // --appendonly
    Sync sync = Sync::everysec;
    std::string password;                // empty: no client needs one
    std::uint64_t memory_max = 0;        // bytes; 0: no limit
    Eviction eviction = Eviction::none;  // --maxmemory-policy
    std::size_t bulk_bytes_max = std::size_t{512} << 20;
    std::size_t input_bytes_max = std::size_t{1} << 30;        // kept of what all clients sent
    std::size_t output_bytes_max = std::size_t{1} << 30;       // unsent, all clients together
    std::size_t subscriber_bytes_max = std::size_t{32} << 20;  // unsent, of one that subscribes
    std::size_t connections_max = 10'000;
    std::uint64_t rewrite_bytes_min = std::uint64_t{64}
                                      << 20;  // of the log, before it is rewritten
    std::string engine = "auto";
};

// Reads `--name value` and `--name=value`. An error names the word and what is possible.
tiderace::Result<Options> parse_options(const std::vector<std::string_view>& words);
// Sets one by its name without "--". False: there is no such name.
tiderace::Result<bool> set_option(Options& options, std::string_view name, std::string_view value);
// The value as text; empty vector: the names that exist.
std::vector<std::string_view> option_names();
std::string option_text(const Options& options, std::string_view name);

extern const std::string_view usage;

}  // namespace kv
