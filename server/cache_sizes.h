// The sizes of files that the cache holds, and which of them apply when not all are given.
//
// Thread   Any: plain data and a pure function.
#pragma once

#include <cstdint>
#include <optional>

#include "tiderace/base/units.h"
#include "tiderace/http/handler/static_files.h"

namespace tiderace::server {

struct CacheOptions {
    std::uint64_t bytes_max = http::files::FileCacheLimits{}.bytes_max;  // per loop; 0: no cache
    // Up to this size a file is copied next to its headers.
    std::uint64_t small_copy_bytes_max = http::handler::StaticFilesOptions{}.small_copy_bytes_max;
    // A larger file is never held in memory. Unset: as in CacheSizes.
    std::optional<std::uint64_t> memory_file_bytes_max;
    // A smaller file is held from its first request on; from this size on an uncached file goes by
    // sendfile. Unset: as CacheSizes says.
    std::optional<std::uint64_t> sendfile_bytes_min;
    // An entry is trusted for this long without a look at the disk.
    Duration revalidate = http::files::FileCacheLimits{}.revalidate;
    bool operator==(const CacheOptions&) const = default;
};

// The sizes that decide between memory and sendfile.
struct CacheSizes {
    std::uint64_t memory_file_bytes_max;
    std::uint64_t sendfile_bytes_min;
};
inline constexpr CacheSizes plain_cache_sizes{32_KiB, 32_KiB};  // decision 0004
// Sendfile cannot encrypt: a 57 KB file from memory costs 0.8 of reading it each time. Larger files
// are held once they are hot.
inline constexpr CacheSizes tls_cache_sizes{4_MiB, 128_KiB};
// The given sizes, and defaults that do not contradict them.
CacheSizes cache_sizes(const CacheOptions& given, bool encrypted);

}  // namespace tiderace::server
