#include "server/cache_sizes.h"

#include <algorithm>

namespace tiderace::server {

CacheSizes cache_sizes(const CacheOptions& given, bool encrypted) {
    const CacheSizes& defaults = encrypted ? tls_cache_sizes : plain_cache_sizes;
    // A file that is read at once is held in memory, so neither default may contradict the other's
    // flag.
    const std::uint64_t memory = given.memory_file_bytes_max.value_or(
        std::max(defaults.memory_file_bytes_max, given.sendfile_bytes_min.value_or(0)));
    const std::uint64_t sendfile =
        given.sendfile_bytes_min.value_or(std::min(defaults.sendfile_bytes_min, memory));
    return {.memory_file_bytes_max = memory, .sendfile_bytes_min = sendfile};
}

}  // namespace tiderace::server
