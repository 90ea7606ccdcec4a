#include "tiderace/testing/scarce_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
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

TEST(FreedMemory, IsFoundWhereATextIsLeftInIt) {
    if (!FreedMemory::works) GTEST_SKIP() << FreedMemory::why_not;
    const std::string text = "a text too long for a small string";
    std::optional<std::string> copy(text);
    FreedMemory freed(text);
    copy.reset();
    EXPECT_EQ(freed.found(), 1);
    copy.emplace(text);
    std::ranges::fill(*copy, ' ');
    copy.reset();
    EXPECT_EQ(freed.found(), 1);
}

}  // namespace
}  // namespace tiderace::testing
