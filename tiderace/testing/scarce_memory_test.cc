#include "tiderace/testing/scarce_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <thread>

namespace tiderace::testing {
namespace {

TEST(ScarceMemory, FailsTheNthAllocationOnce) {
    if (!ScarceMemory::works) GTEST_SKIP() << ScarceMemory::why_not;
    ScarceMemory scarce(2);
    const std::unique_ptr<int> first(::new int(1));
    EXPECT_FALSE(scarce.failed());
    EXPECT_THROW(::operator delete(::operator new(8)), std::bad_alloc);
    EXPECT_TRUE(scarce.failed());
    EXPECT_NO_THROW(::operator delete(::operator new(8)));
}

TEST(ScarceMemory, LeavesOtherThreadsAlone) {
    if (!ScarceMemory::works) GTEST_SKIP() << ScarceMemory::why_not;
    bool served = false;
    std::thread other([&] { ::operator delete(::operator new(8)), served = true; });
    other.join();
    EXPECT_TRUE(served);
    ScarceMemory scarce(1);
    EXPECT_THROW(::operator delete(::operator new(8)), std::bad_alloc);
}

TEST(ScarceMemory, EndsWithItsObject) {
    if (!ScarceMemory::works) GTEST_SKIP() << ScarceMemory::why_not;
    {
        ScarceMemory scarce(1);
    }
    EXPECT_NO_THROW(::operator delete(::operator new(8)));
}

}  // namespace
}  // namespace tiderace::testing
