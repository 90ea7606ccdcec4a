#include "tiderace/task/signature.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace tiderace::task {
namespace {

template <typename...>
struct List {};

TEST(FunctionOf, AFunctionAndAFunctionObjectHaveParametersAndAResult) {
    const auto lambda = [](int, char&) noexcept { return 1; };
    const auto changing = [n = 0](int) mutable { return ++n; };
    EXPECT_TRUE((std::is_same_v<FunctionOf<decltype(lambda)>::Arguments<List>, List<int, char&>>));
    EXPECT_TRUE((std::is_same_v<FunctionOf<decltype(lambda)>::Plain, int (*)(int, char&)>));
    EXPECT_TRUE((std::is_same_v<FunctionOf<void (*)(int)>::Result, void>));
    EXPECT_TRUE(FunctionOf<decltype(lambda)>::constant);
    EXPECT_FALSE(FunctionOf<decltype(changing)>::constant);
}

TEST(FunctionOf, AnOverloadedObjectHasNone) {
    struct Both {
        void operator()(int) const {}
        void operator()(char) const {}
    };
    EXPECT_FALSE(HasSignature<Both>);
    EXPECT_FALSE(HasSignature<int>);
    EXPECT_TRUE((HasSignature<void (*)()>));
}

}  // namespace
}  // namespace tiderace::task
