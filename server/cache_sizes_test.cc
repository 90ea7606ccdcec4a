#include "server/cache_sizes.h"

#include <gtest/gtest.h>

#include <utility>

namespace tiderace::server {
namespace {

TEST(CacheSizes, SizesOfTheCacheAreInOrder) {
    const CacheOptions cache;
    for (const bool encrypted : {false, true}) {
        const CacheSizes sizes = cache_sizes(cache, encrypted);
        EXPECT_LT(cache.small_copy_bytes_max, sizes.sendfile_bytes_min);
        // A file between the two is held once it is hot; without TLS there is none (decision 0004).
        EXPECT_LE(sizes.sendfile_bytes_min, sizes.memory_file_bytes_max);
        EXPECT_LT(sizes.memory_file_bytes_max, cache.bytes_max);
    }
}

TEST(CacheSizes, AGivenSizeOfTheCacheIsObeyedWithTlsToo) {
    const auto sizes = [](const CacheOptions& given) {
        const CacheSizes both = cache_sizes(given, true);
        return std::pair(both.memory_file_bytes_max, both.sendfile_bytes_min);
    };
    const std::uint64_t memory = tls_cache_sizes.memory_file_bytes_max;
    const std::uint64_t sendfile = tls_cache_sizes.sendfile_bytes_min;
    EXPECT_EQ(sizes({}), std::pair(memory, sendfile));
    // The default without TLS, given with TLS.
    EXPECT_EQ(sizes({.memory_file_bytes_max = 32_KiB}), std::pair(32_KiB, 32_KiB));
    EXPECT_EQ(sizes({.sendfile_bytes_min = 32_KiB}), std::pair(memory, 32_KiB));
    EXPECT_EQ(sizes({.sendfile_bytes_min = 8_MiB}), std::pair(8_MiB, 8_MiB));
    EXPECT_EQ(sizes({.memory_file_bytes_max = 1_KiB, .sendfile_bytes_min = 2_KiB}),
              std::pair(1_KiB, 2_KiB));
}

}  // namespace
}  // namespace tiderace::server
