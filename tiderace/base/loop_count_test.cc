#include "tiderace/base/loop_count.h"

#include <gtest/gtest.h>

#include <thread>

namespace tiderace {
namespace {

TEST(LoopCount, OneThreadCountsWhileAnotherReads) {
    LoopCount count;
    constexpr std::uint64_t times = 100'000;
    std::thread writer([&] {
        for (std::uint64_t i = 0; i < times; ++i) {
            ++count;
            count += 2;
            --count;
        }
    });
    for (std::uint64_t seen = 0; seen < 2 * times; seen = count) EXPECT_LE(seen, 2 * times + 2);
    writer.join();
    EXPECT_EQ(count, 2 * times);
}

}  // namespace
}  // namespace tiderace
