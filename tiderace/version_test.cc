#include "tiderace/version.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace {
namespace {

#if TIDERACE_VERSION < TIDERACE_VERSION_OF(0, 1, 0)
#error "the preprocessor compares versions"
#endif

TEST(Version, TheTextHasTheNumbers) {
    EXPECT_EQ(TIDERACE_VERSION_TEXT, std::to_string(TIDERACE_VERSION_MAJOR) + "." +
                                         std::to_string(TIDERACE_VERSION_MINOR) + "." +
                                         std::to_string(TIDERACE_VERSION_PATCH));
}

TEST(Version, LaterVersionsAreGreater) {
    EXPECT_GT(TIDERACE_VERSION_OF(0, 2, 0), TIDERACE_VERSION_OF(0, 1, 999));
    EXPECT_GT(TIDERACE_VERSION_OF(1, 0, 0), TIDERACE_VERSION_OF(0, 999, 999));
    EXPECT_EQ(TIDERACE_VERSION_OF(0 + 1, 2, 3), 1'002'003);
}

}  // namespace
}  // namespace tiderace
