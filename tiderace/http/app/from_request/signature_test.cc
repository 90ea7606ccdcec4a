#include "tiderace/http/app/from_request/signature.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace tiderace::http::app_parts {
namespace {

template <typename F>
using Of = SignatureOf<F>;

TEST(Signature, AFunctionAndAFunctionObjectHaveOne) {
    const auto lambda = [](int) noexcept { return 1; };
    const auto changing = [n = 0](int) mutable { return ++n; };
    EXPECT_TRUE(Of<decltype(lambda)>::constant);
    EXPECT_FALSE(Of<decltype(changing)>::constant);
    EXPECT_TRUE((std::is_same_v<Of<int (*)(Body)>::Result, int>));
}

TEST(Signature, ItCountsWhatItsArgumentsNeedOfTheRequest) {
    using Plain = Of<void (*)(int, std::string, Body)>;
    EXPECT_EQ(Plain::path_parameters, 2U);
    EXPECT_EQ(Plain::body, BodyUse::whole);
    EXPECT_EQ(Plain::body_arguments, 1U);
    EXPECT_FALSE(Plain::takes_views);
    EXPECT_FALSE(Plain::waits);
}

}  // namespace
}  // namespace tiderace::http::app_parts
