#include "tiderace/base/transient_error.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tiderace {
namespace {

struct Full : std::runtime_error, TransientError {
    Full() : std::runtime_error("full") {}
};
struct Gone final : Full {
    bool is_transient() const noexcept override { return false; }
};

bool passes(auto thrown) {
    try {
        throw thrown;
    } catch (const TransientError& fault) {
        return fault.is_transient();
    }
}

TEST(TransientError, PassesUnlessItsTypeDecidesOtherwise) {
    EXPECT_TRUE(passes(Full()));
    EXPECT_FALSE(passes(Gone()));
    EXPECT_THROW(throw Full(), std::exception);
}

}  // namespace
}  // namespace tiderace
