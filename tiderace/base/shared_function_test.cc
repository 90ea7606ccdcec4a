#include "tiderace/base/shared_function.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tiderace {
namespace {

TEST(SharedFunctionTest, CopiesCallTheSameCallable) {
    shared_function<int()> count = [n = 0]() mutable { return ++n; };
    const shared_function<int()> copy = count;
    EXPECT_EQ(count(), 1);
    EXPECT_EQ(copy(), 2);
}

TEST(SharedFunctionTest, TheLastCopyDestroysIt) {
    auto held = std::make_shared<int>(7);
    shared_function<int()> f = [held] { return *held; };
    {
        const auto copy = f;
        f = nullptr;
        EXPECT_EQ(held.use_count(), 2);
        EXPECT_EQ(copy(), 7);
    }
    EXPECT_EQ(held.use_count(), 1);
}

TEST(SharedFunctionTest, ArgumentsAreHandedOn) {
    const shared_function<std::string(const std::string&, int)> f =
        [](const std::string& s, int n) { return s + std::to_string(n); };
    EXPECT_TRUE(f);
    EXPECT_EQ(f("a", 3), "a3");
    EXPECT_FALSE((shared_function<void()>()));
}

TEST(SharedFunctionDeathTest, CallingAnEmptyOneAborts) {
    const shared_function<void()> none;
    EXPECT_DEATH(none(), "empty function");
}

}  // namespace
}  // namespace tiderace
