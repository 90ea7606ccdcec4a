#include "tiderace/testing/environment_variable.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

namespace tiderace::testing {
namespace {

constexpr const char* name = "TIDERACE_TEST_ENVIRONMENT";

TEST(EnvironmentVariable, IsSetWhileItLivesAndPutBackAfterIt) {
    ASSERT_EQ(std::getenv(name), nullptr);
    {
        const EnvironmentVariable outer(name, "outer");
        EXPECT_STREQ(std::getenv(name), "outer");
        {
            const EnvironmentVariable inner(name, "");
            EXPECT_STREQ(std::getenv(name), "");
            const EnvironmentVariable innermost(name, std::nullopt);
            EXPECT_EQ(std::getenv(name), nullptr);
        }
        EXPECT_STREQ(std::getenv(name), "outer");
    }
    EXPECT_EQ(std::getenv(name), nullptr);
}

}  // namespace
}  // namespace tiderace::testing
