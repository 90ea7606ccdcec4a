#include "server/options.h"

#include <gtest/gtest.h>

#include "server/listen_address.h"

namespace tiderace::server {
namespace {

TEST(ServeOptions, ListensOnLoopbackByDefault) {
    const ServeOptions options;
    ASSERT_EQ(options.listen.size(), 1U);
    const auto address = parse_listen_address(options.listen.front());
    ASSERT_TRUE(address);
    EXPECT_TRUE(address->is_loopback());
    EXPECT_TRUE(options.listen_is_default);
}

TEST(ServeOptions, HidesEverythingByDefault) {
    const ServeOptions options;
    EXPECT_FALSE(options.hidden_files);
    EXPECT_FALSE(options.listing);
    EXPECT_EQ(options.symlinks, SymlinkPolicy::inside);
    EXPECT_FALSE(options.cors_origin);
    EXPECT_TRUE(options.added_headers.empty());
}

TEST(ServeOptions, BoundsEveryPeer) {
    const ServeOptions options;
    for (const Duration timeout :
         {options.timeouts.header, options.timeouts.body, options.timeouts.write,
          options.timeouts.idle, options.timeouts.half_closed, options.timeouts.drain}) {
        EXPECT_GT(timeout, Duration::zero());
    }
    EXPECT_GT(options.minimum_rates.receive_bytes_per_second_min, 0U);
    EXPECT_GT(options.minimum_rates.send_bytes_per_second_min, 0U);
    EXPECT_LE(options.limits.request_line_bytes_max, options.limits.head_bytes_max);
}

}  // namespace
}  // namespace tiderace::server
