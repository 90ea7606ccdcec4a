#include "tiderace/base/passing_fault.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tiderace {
namespace {

struct Full : std::runtime_error, PassingFault {
    Full() : std::runtime_error("full") {}
};
struct Gone final : Full {
    bool passes() const noexcept override { return false; }
};

bool passes(auto thrown) {
    try {
        throw thrown;
    } catch (const PassingFault& fault) {
        return fault.passes();
    }
}

TEST(PassingFault, PassesUnlessItsTypeDecidesOtherwise) {
    EXPECT_TRUE(passes(Full()));
    EXPECT_FALSE(passes(Gone()));
    EXPECT_THROW(throw Full(), std::exception);
}

}  // namespace
}  // namespace tiderace
