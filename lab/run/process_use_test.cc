#include "lab/run/process_use.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

namespace tiderace::lab::run {
namespace {

// Something for a CPU to do, that no compiler takes away.
void work() {
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < 3'000'000; ++i) sum = sum + i;
}

TEST(ProcessUse, CpuTimeHoldsThatOfThreadsThatEnded) {
    const std::array self{static_cast<int>(::getpid())};
    const Duration before = cpu_of(self);
    std::thread(work).join();
    EXPECT_GT(cpu_of(self), before + 1ms);
}

TEST(ProcessUse, MemoryGrowsWithWhatIsTouched) {
    const std::array self{static_cast<int>(::getpid())};
    const std::uint64_t before = memory_of(self);
    const std::vector<char> block(64 << 20, 'x');
    EXPECT_GT(memory_of(self), before + (60 << 20));
    EXPECT_EQ(block.back(), 'x');
}

TEST(ProcessUse, WhoIsNotThereUsesNothing) {
    const std::array nobody{-1, 999'999'999};
    EXPECT_EQ(cpu_of(nobody), Duration::zero());
    EXPECT_EQ(memory_of(nobody), 0U);
}

}  // namespace
}  // namespace tiderace::lab::run
